"use strict";

// The model of simt/count/l2_model.cpp, for products whose blocks copy whole lines of A and B. Its comments say why
// the model is as it is. A test compares the two in tests/fixtures/tile_orders.json.

const LINE_SECTORS = 4;
const SECTOR_BYTES = 32;
const LINE_FLOATS = 32;
const WAYS = 16;
const ACCESSES_AT_A_TIME = 8;

function hashOf(line) {
  line = Math.imul(line ^ (line >>> 16), 0x7feb352d);
  line = Math.imul(line ^ (line >>> 15), 0x846ca68b);
  return (line ^ (line >>> 16)) >>> 0;
}

function shareOf(hashed, shares) {
  return ((hashed & 0xffff) * shares) >>> 16;
}

/** A set-associative cache of whole lines. The most recently used line of a set comes first. */
class Cache {
  constructor(bytes) {
    this.sets = Math.max(Math.floor(bytes / (WAYS * LINE_SECTORS * SECTOR_BYTES)), 1);
    this.tags = new Uint32Array(this.sets * WAYS); // 1 + the line; 0 for none
    this.dirty = new Uint8Array(this.sets * WAYS);
    this.writtenBack = 0; // lines
  }

  /** Uses a line, and returns whether it was there. */
  use(line, hashed, write) {
    const { tags, dirty } = this;
    const first = Math.floor((hashed * this.sets) / 4294967296) * WAYS;
    const tag = line + 1;
    let way = first;
    const last = first + WAYS - 1;
    while (way < last && tags[way] !== tag) {
      ++way;
    }
    const hit = tags[way] === tag;
    const wasDirty = dirty[way];
    if (!hit) {
      this.writtenBack += wasDirty;
    }
    for (; way > first; --way) {
      tags[way] = tags[way - 1];
      dirty[way] = dirty[way - 1];
    }
    tags[first] = tag;
    dirty[first] = write || (hit && wasDirty) ? 1 : 0;
    return hit;
  }
}

/**
 * Replays a launch tick by tick. `launch` has m, n and k, multiples of the tile; tileM and tileN, multiples of 32;
 * blocksPerSm; and inTurn, whether the blocks of an SM work one behind the other. `tileAt` gives the tile at each
 * position. `gpu` has sms, l2Bytes and partitions. Of launches with more than `mostFollowed` accesses one set in 2 to 16
 * is followed, and stands for all.
 */
class Replay {
  constructor(launch, gpu, tileAt, mostFollowed = 100e6) {
    const { m, n, k, tileM, tileN, blocksPerSm } = launch;
    this.rows = m / tileM;
    this.cols = n / tileN;
    this.blocks = this.rows * this.cols;
    this.tiles = Array.from({ length: this.blocks }, (_, index) => tileAt(index, this.rows, this.cols));
    this.launch = launch;
    this.gpu = gpu;
    this.steps = k / LINE_FLOATS;
    this.linesOfStep = tileM + tileN; // one of each row of A, tileN / 32 of each of 32 rows of B
    this.linesRead = this.steps * this.linesOfStep;
    this.linesOfBlock = this.linesRead + (tileM * tileN) / LINE_FLOATS;
    this.ticksOfBlock = Math.max(Math.floor(this.linesOfBlock / ACCESSES_AT_A_TIME), blocksPerSm);
    this.sampleBits = 0; // lines are followed whose hashes begin with so many zeros
    while (this.sampleBits < 4 && Math.floor((this.blocks * this.linesOfBlock) / this.sample) > mostFollowed) {
      ++this.sampleBits;
    }
    const bytes = Math.floor(gpu.l2Bytes / gpu.partitions);
    this.partitions = Array.from({ length: gpu.partitions }, () => new Cache(bytes));
    this.tick = 0;
    this.nextBlock = 0;
    this.underWay = 0;
    this.asked = { read: 0, written: 0 }; // lines
    this.followed = { read: 0, hits: 0, written: 0 };
    this.slots = Array.from({ length: Math.min(this.blocks, gpu.sms * blocksPerSm) }, (_, index) => ({
      partition: shareOf(hashOf(index % gpu.sms), gpu.partitions),
      block: -1,
    }));
    this.slots.forEach((slot, index) => {
      const turn = launch.inTurn ? Math.floor(index / gpu.sms) : 0;
      this.start(slot, Math.floor((turn * this.ticksOfBlock) / blocksPerSm));
    });
  }

  start(slot, tick) {
    slot.block = this.nextBlock < this.blocks ? this.nextBlock++ : -1;
    slot.started = tick;
    slot.done = 0;
    this.underWay += slot.block >= 0 ? 1 : 0;
  }

  /** Of how many sets one is followed. */
  get sample() {
    return 1 << this.sampleBits;
  }

  get finished() {
    return this.underWay === 0;
  }

  /** The share of all accesses that have been made. */
  get progress() {
    return (this.asked.read + this.asked.written) / (this.blocks * this.linesOfBlock);
  }

  access(partition, line, write) {
    const hashed = hashOf(line);
    if (this.sampleBits > 0 && hashed >>> (32 - this.sampleBits) !== 0) {
      return; // of another set
    }
    const home = shareOf(hashed, this.partitions.length);
    if (write) {
      ++this.followed.written;
      this.partitions[home].use(line, hashed, true);
      return;
    }
    ++this.followed.read;
    let hit = this.partitions[partition].use(line, hashed, false);
    if (!hit && partition !== home) {
      hit = this.partitions[home].use(line, hashed, false);
    }
    this.followed.hits += hit ? 1 : 0;
  }

  /** Makes a block's accesses up to before number `end`. */
  advanceBlock(slot, end) {
    const { m, n, k, tileM, tileN } = this.launch;
    const { row, col } = this.tiles[slot.block];
    const aWidth = k / LINE_FLOATS; // lines of a row
    const bWidth = n / LINE_FLOATS;
    const tileWidth = tileN / LINE_FLOATS;
    const beginOfB = m * aWidth;
    const beginOfC = beginOfB + k * bWidth;
    for (; slot.done < end && slot.done < this.linesRead; ++slot.done) {
      const inStep = slot.done % this.linesOfStep;
      const step = (slot.done - inStep) / this.linesOfStep;
      ++this.asked.read;
      if (inStep < tileM) {
        this.access(slot.partition, (row * tileM + inStep) * aWidth + step, false);
      } else {
        const inRow = (inStep - tileM) % tileWidth;
        const rowOfB = step * LINE_FLOATS + (inStep - tileM - inRow) / tileWidth;
        this.access(slot.partition, beginOfB + rowOfB * bWidth + col * tileWidth + inRow, false);
      }
    }
    for (; slot.done < end; ++slot.done) {
      const inTile = slot.done - this.linesRead;
      const inRow = inTile % tileWidth;
      const rowOfC = row * tileM + (inTile - inRow) / tileWidth;
      ++this.asked.written;
      this.access(slot.partition, beginOfC + rowOfC * bWidth + col * tileWidth + inRow, true);
    }
  }

  /** All blocks under way advance by one tick. */
  advance() {
    for (const slot of this.slots) {
      if (slot.block < 0 || this.tick < slot.started) {
        continue;
      }
      const age = this.tick + 1 - slot.started;
      this.advanceBlock(slot, Math.floor((this.linesOfBlock * age) / this.ticksOfBlock));
      if (age === this.ticksOfBlock) {
        --this.underWay;
        this.start(slot, this.tick + 1);
      }
    }
    ++this.tick;
  }

  /** What the L2 was asked for so far and what DRAM moved for it, in sectors and bytes. */
  traffic() {
    const sectors = (part, followed, all) =>
      followed === 0 ? 0 : Math.floor((part / followed) * all * LINE_SECTORS + 0.5);
    const readSectors = this.asked.read * LINE_SECTORS;
    const readHits = sectors(this.followed.hits, this.followed.read, this.asked.read);
    const writtenBack = this.partitions.reduce((sum, cache) => sum + cache.writtenBack, 0);
    return {
      readSectors,
      readHits,
      writtenSectors: this.asked.written * LINE_SECTORS,
      dramReadBytes: (readSectors - readHits) * SECTOR_BYTES,
      dramWrittenBytes: sectors(writtenBack, this.followed.written, this.asked.written) * SECTOR_BYTES,
    };
  }
}
