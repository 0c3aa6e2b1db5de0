import type { Db, Tx } from '../db/index.ts';
import { assertCell, type CellId } from '../ids/index.ts';

/** The resources with a 32-bit wire id besides their real id. Each kind has its own sequence. */
export type WireIdKind = 'rental' | 'volume';

export const wireIdBlockSize = 1_048_576;
export const maxWireId = 2_147_483_647;
const blockCount = 2_048;
/** The number of cells that can allocate wire ids: block n belongs to cell n mod this. Must never change. */
export const wireIdCells = 64;
const maxChunk = 65_536;

/** The blocks of a cell in the order of use. No two cells share one, so cells need no coordination. */
export function blocksOfCell(cell: CellId): readonly number[] {
  assertCell(cell);
  if (cell >= wireIdCells) {
    throw new RangeError(
      `Only cells 0 to ${wireIdCells - 1} can allocate 32-bit ids; this is cell ${cell}. ` +
        'Sell rentals and volumes in one of those.',
    );
  }
  const blocks: number[] = [];
  for (let block = cell; block < blockCount; block += wireIdCells) blocks.push(block);
  return blocks;
}

/** The ids of a block, both ends included. Id 0 is never allocated, because much code treats it as "none". */
export function idsOfBlock(block: number): { readonly first: number; readonly last: number } {
  return { first: Math.max(1, block * wireIdBlockSize), last: (block + 1) * wireIdBlockSize - 1 };
}

export interface WireIdAllocator {
  /** A new id. Call it before the transaction that uses it: ids are cheap, gaps harmless. */
  next(): Promise<number>;
}

export interface WireIdOptions {
  readonly db: Db;
  readonly cell: CellId;
  readonly kind: WireIdKind;
  /** The number of ids to take at once. Unused ids of a process are lost when it ends, so keep it near 50. */
  readonly chunk: number;
}

/** Allocates ids from memory, and takes a chunk from the cell's block in a short transaction when they are used up. */
export function createWireIdAllocator(options: WireIdOptions): WireIdAllocator {
  const { db, cell, kind, chunk } = options;
  if (!Number.isInteger(chunk) || chunk < 1 || chunk > maxChunk) {
    throw new RangeError(`A chunk must have 1 to ${maxChunk} ids, but has ${chunk}.`);
  }
  const blocks = blocksOfCell(cell);
  let nextId = 0;
  let endId = 0;
  let refill: Promise<void> | undefined;

  async function takeChunk(): Promise<void> {
    const taken = await db.transaction({ name: 'take wire ids', isolation: 'read committed' }, (tx) =>
      takeIdsFromBlock(tx, { kind, cell, chunk, blocks }),
    );
    nextId = taken.first;
    endId = taken.end;
  }

  return {
    async next() {
      while (nextId >= endId) {
        // Concurrent callers wait for one refill.
        refill ??= takeChunk().finally(() => {
          refill = undefined;
        });
        await refill;
      }
      const id = nextId;
      nextId += 1;
      return id;
    },
  };
}

interface ChunkRequest {
  readonly kind: WireIdKind;
  readonly cell: CellId;
  readonly chunk: number;
  readonly blocks: readonly number[];
}

/** Takes up to a chunk from the newest block. If the block is used up, allocates the cell's next one. */
async function takeIdsFromBlock(tx: Tx, take: ChunkRequest): Promise<{ first: number; end: number }> {
  for (let tries = 0; tries <= take.blocks.length; tries += 1) {
    const current = await lockNewestBlock(tx, take);
    const first = Number(current?.next_id ?? 0);
    const end = current === undefined ? 0 : idsOfBlock(current.block).last + 1;
    if (current !== undefined && first < end) {
      const takenEnd = Math.min(end, first + take.chunk);
      await tx.kysely
        .updateTable('id_blocks')
        .set({ next_id: BigInt(takenEnd) })
        .where('kind', '=', take.kind)
        .where('block', '=', current.block)
        .execute();
      return { first, end: takenEnd };
    }
    await allocateNextBlock(tx, take, current?.block);
  }
  throw new Error(`A block of ${take.kind} ids could not be allocated to cell ${take.cell}.`);
}

/** The row lock serialises processes; the one that waited sees the result of the first. */
async function lockNewestBlock(tx: Tx, take: ChunkRequest) {
  return tx.kysely
    .selectFrom('id_blocks')
    .select(['block', 'next_id'])
    .where('kind', '=', take.kind)
    .where('cell', '=', take.cell)
    .orderBy('block', 'desc')
    .limit(1)
    .forUpdate()
    .executeTakeFirst();
}

/** If another process allocated the same block concurrently, its row is used. */
async function allocateNextBlock(tx: Tx, take: ChunkRequest, usedUp: number | undefined): Promise<void> {
  const block = take.blocks[usedUp === undefined ? 0 : take.blocks.indexOf(usedUp) + 1];
  if (block === undefined) {
    throw new Error(
      `Cell ${take.cell} has no ${take.kind} ids left. Open another cell for new ${take.kind}s.`,
    );
  }
  await tx.kysely
    .insertInto('id_blocks')
    .values({ kind: take.kind, block, cell: take.cell, next_id: BigInt(idsOfBlock(block).first) })
    .onConflict((conflict) => conflict.columns(['kind', 'block']).doNothing())
    .execute();
}
