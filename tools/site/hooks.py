"""MkDocs's hooks for the site: they make pages of what lies in the repository, and leave it as it is.

The pages are those of `nav` in mkdocs.yml. What they link to becomes part of the site as well: pictures and JSON as
they are, sources as pages with highlighted lines (line 12 has the anchor L12), folders as lists of their files.
"""

import html
import json
import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

import markdown
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
AS_THEY_ARE = {".json", ".png", ".svg"}
LANGUAGES = {".cff": "yaml", ".cu": "cuda", ".cuh": "cuda", ".diff": "diff", ".h": "c", ".hpp": "cpp", ".txt": "cmake"}
HOME = "docs/worklog.md"
HOMES = {HOME: "index.html", "README.md": "README.html"}  # the site begins with the former
GLOSSARY = "docs/glossary.md"
INTERACTIVE = "docs/interactive.md"
INTERACTIVE_PAGES = os.environ.get("SGEMM_SITE_PAGES", "")  # a folder of HTML files
SECTIONS = {"warp": "A warp's accesses", "tiles": "Tiles, and their order", "report": "A report of results"}  # for them


# The files of the site.


class MadePage(File):
    """A page that is made for a file that is no Markdown, or for a folder; `src_uri` is its path, as links have it."""

    def __init__(self, path: str, text: str, dest_uri: str, config: MkDocsConfig) -> None:
        super().__init__(path, None, config.site_dir, False, dest_uri=dest_uri, inclusion=InclusionLevel.NOT_IN_NAV)
        self.generated_by = "hooks"
        self.content_string = text

    def is_documentation_page(self) -> bool:
        return True


# The pages are what a search is for: names of functions in sources would drown them.
APART = "---\nsearch: {exclude: true}\nhide: [navigation, toc]\n---\n"


def pages_of(nav: list | dict | str) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [page for part in (nav.values() if isinstance(nav, dict) else nav) for page in pages_of(part)]


def source_page(path: str, config: MkDocsConfig) -> File:
    text = (ROOT / path).read_text(encoding="utf-8")
    language = LANGUAGES.get(posixpath.splitext(path)[1], "text")
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 0)
    text = f'{APART}# {path}\n\n{fence}{language} linenums="1"\n{text}{fence}\n'
    return MadePage(path, text, f"{path}.html", config)


def notebook_page(path: str, config: MkDocsConfig) -> File:
    """The cells of a notebook in turn: text, code, and what the code printed."""
    parts = []
    for cell in json.loads((ROOT / path).read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for output in cell.get("outputs", []):
            parts.append("```text\n" + "".join(output["text"]).rstrip("\n") + "\n```")
    return MadePage(path, "\n\n".join(parts), f"{path}.html", config)


def folder_page(path: str, config: MkDocsConfig) -> File:
    files = sorted(file.name for file in (ROOT / path).iterdir() if file.is_file() and not file.name.startswith("."))
    name = posixpath.basename(path)
    listing = "".join(f"- [{file}]({name}/{file})\n" for file in files)
    return MadePage(path, f"{APART}# {path}\n\n{listing}", f"{path}/index.html", config)


def site_file(path: str, config: MkDocsConfig) -> File:
    if (ROOT / path).is_dir():
        return folder_page(path, config)
    if path.endswith(".ipynb"):
        return notebook_page(path, config)
    if posixpath.splitext(path)[1] in {".md", *AS_THEY_ARE}:
        file = File.generated(config, path, abs_src_path=str(ROOT / path))
        file.dest_uri = HOMES.get(path, file.dest_uri)
        return file
    return source_page(path, config)


def links(file: File) -> Iterator[str]:
    """The paths in the repository that a page links to, as far as there is something."""
    text = re.sub(r"^\s*(```+).*?^\s*\1|`[^`\n]*`", "", file.content_string, flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(\s*([^)\s#:]+)(?:#[^)\s]*)?\)", text):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file.src_uri), target))
        if not path.startswith("..") and (ROOT / path).exists():
            yield path


def interactive_pages() -> dict[str, Path]:
    """The files of INTERACTIVE_PAGES by their paths in the site."""
    files = sorted(Path(INTERACTIVE_PAGES).glob("*.html")) if INTERACTIVE_PAGES else []
    return {f"docs/interactive/{path.name}": path for path in files}


def with_interactive_pages(text: str) -> str:
    """INTERACTIVE with links to the pages of each section."""
    for kind, section in SECTIONS.items():
        pages = [path for path in interactive_pages().values() if path.name.startswith(kind)]
        links_ = ", ".join(f"[{path.stem.removeprefix('warp_')}](interactive/{path.name})" for path in pages)
        if pages:
            text = text.replace(f"## {section}\n", f"## {section}\n\nIn this site: {links_}.\n", 1)
    return text


def with_viewers(text: str) -> str:
    """HOME with a warp's accesses behind the kernel of each step, beside those of the step before."""

    def viewers(step: re.Match) -> str:
        pages = {n: f"docs/interactive/warp_step_{n}.html" for n in (int(step[2]) - 1, int(step[2]))}
        frames = "".join(
            f'<iframe title="A warp\'s accesses in step {n}" src="{page}" loading="lazy"></iframe>'
            for n, page in pages.items()
            if page in interactive_pages()
        )
        return f'{step[1]}\n<div class="viewers">{frames}</div>\n' if frames else step[1]

    return re.sub(r"(^## Step (\d):.*?^```cuda\n.*?^```\n)", viewers, text, flags=re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    theme = [file for file in files if file.src_dir != config.docs_dir]
    home = f'<body>\n<nav style="margin: 0.25rem"><a href="../../index.html">{config.site_name}</a></nav>'
    found = {
        path: File.generated(config, path, content=file.read_text(encoding="utf-8").replace("<body>", home, 1))
        for path, file in interactive_pages().items()
    }
    wanted = list(pages_of(config.nav))
    while wanted:
        if (path := wanted.pop()) not in found and (ROOT / path).exists():
            found[path] = site_file(path, config)
            if found[path].is_documentation_page():
                wanted += links(found[path])
    return Files([*theme, *(found[path] for path in sorted(found))])


# The text: Markdown as GitHub reads it, and the glossary's tooltips.


class AsGitHub(markdown.Extension):
    def extendMarkdown(self, md: markdown.Markdown) -> None:
        md.tab_length = 2  # what is indented by two belongs to the list
        md.build_parser()  # its parts have read the length, so this extension comes first


def anchor(heading: str, separator: str = "-") -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.markdown_extensions.insert(0, AsGitHub())
    config.mdx_configs["toc"]["slugify"] = anchor
    config.theme.static_templates.discard("404.html")  # only a server's root would need it
    return config


def definitions() -> dict[str, str]:
    """The first sentence of each term in the glossary, by the term."""
    text = (ROOT / GLOSSARY).read_text(encoding="utf-8")
    entries = re.findall(r"^### ([^\n]+)\n\n(.+?)(?=\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    plain = ((term, re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "")) for term, text in entries)
    return {term: re.split(r"(?<=[.:]) (?=[A-Z])", " ".join(text.split()))[0] for term, text in plain}


def on_page_markdown(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    text = text.replace("<details>", '<details markdown="1">')
    if page.file.src_uri == INTERACTIVE:
        text = with_interactive_pages(text)
    if page.file.src_uri == HOME:
        text = with_viewers(text)
    if isinstance(page.file, MadePage) or page.file.src_uri == GLOSSARY:
        return text
    terms = definitions()
    abbreviations = (f"*[{term}]: {terms[term]}" for term in terms if re.fullmatch(r"[A-Z]+[A-Z0-9]+", term))
    return "\n".join([text, "", *abbreviations])


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if isinstance(page.file, MadePage):
        content = content.replace("__codelineno-0-", "L")
        page.present_anchor_ids = {*(page.present_anchor_ids or ()), *re.findall(r'id="(L\d+)"', content)}
        return content
    content = re.sub(r"<!--.*?-->", "", content, flags=re.DOTALL)
    content = re.sub(r'<img [^>]*?src="([^"]+)"[^>]*>', r'<a href="\1">\g<0></a>', content)  # to be read on a phone
    titles = {anchor(term): html.escape(text) for term, text in definitions().items()}

    def with_title(link: re.Match) -> str:
        return f'{link[0]} title="{titles[link[1]]}"' if link[1] in titles else link[0]

    content = re.sub(r'<a href="(?:[^"]*/)?glossary\.html#([^"]+)"', with_title, content)
    # Links have a tooltip of their own, and titles need none.
    return re.sub(r"<(a|h\d) .*?</\1>", lambda found: re.sub(r"</?abbr[^>]*>", "", found[0]), content, flags=re.DOTALL)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """The theme's dialog has no name for those who hear the page. A page is called as its heading is."""
    dialog = 'data-md-component="search" role="dialog"'
    output = output.replace(dialog, f'{dialog} aria-label="Search"')
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", output, re.DOTALL)
    title = html.unescape(re.sub(r"<a class=\"headerlink\".*?</a>|<[^>]*>", "", heading[1])) if heading else page.title
    name = html.escape(f"{title} - {config.site_name}" if title != config.site_name else title, quote=False)
    return re.sub(r"<title>.*?</title>", lambda _: f"<title>{name}</title>", output, count=1)
