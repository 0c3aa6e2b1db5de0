import type { Mode } from '@millrace/platform/envelope';
import type { NodeId } from '@millrace/platform/ids';
import { Column, type Direction, type Value } from './column.ts';
import { SetDigest } from './set-digest.ts';
import { columnReaders, fieldOf } from './fields.ts';
import { parseFilters, type ListingQuery, type ParsedFilters } from './filters.ts';
import type { ListedRecord, MachineRecord } from './machine-record.ts';
import {
  isAfterPosition,
  selectTopByRank,
  fromCursor,
  sortSlots,
  toCursor,
  type SortPosition,
  type SortKey,
} from './sort.ts';
import { ReusedArray } from './reused-buffers.ts';
import { JsonSegments, type ByteRange } from './json-segments.ts';

/** Machines that match a query. */
export interface Selection {
  readonly runs: readonly ByteRange[];
  /** Null on the last page; undefined without a limit. */
  readonly nextCursor: string | null | undefined;
}

const FIRST_CAPACITY = 1_024;
/** Shared by all queries, because a query runs synchronously. */
const foundScratch = new ReusedArray((length) => new Uint32Array(length));

/** The JSON of all marketplace machines, with a column per filter field. A listed machine keeps its slot. */
export class MachineTable {
  readonly #columns = new Map([...columnReaders.keys()].map((name) => [name, new Column()]));
  readonly #slotOf = new Map<NodeId, number>();
  readonly #ids: (NodeId | '')[] = [];
  readonly #modes: Mode[] = [];
  readonly #free: number[] = [];
  readonly #digest = new SetDigest();
  /** Test machines are separate, because only queries that name their region see them. */
  readonly #segments: Readonly<Record<Mode, JsonSegments>>;
  #capacity = 0;
  /** Slots in order of id, computed on first use. */
  readonly #orders = new Map<boolean, Uint32Array>();
  readonly #idKeys = new Map<Direction, SortKey>();

  constructor() {
    const idOf = (slot: number): string => this.#ids[slot] ?? '';
    this.#segments = { live: new JsonSegments(idOf), test: new JsonSegments(idOf) };
  }

  get size(): number {
    return this.#slotOf.size;
  }

  /** Machines without test machines. */
  get live(): JsonSegments {
    return this.#segments.live;
  }

  /** Identifies the content of the table. */
  get digest(): string {
    return this.#digest.toString();
  }

  *liveValues(...names: readonly string[]): Iterable<readonly (readonly Value[])[]> {
    const columns = names.map((name) => this.#column(name));
    for (const slot of this.#order(false)) yield columns.map((column) => column.valuesAt(slot));
  }

  /** Listed ids in the range (after, until]; null is unbounded. */
  idsBetween(after: NodeId | null, until: NodeId | null): NodeId[] {
    return [...this.#slotOf.keys()].filter(
      (id) => (after === null || id > after) && (until === null || id <= until),
    );
  }

  /** Null removes a machine. Returns how many changed. Synchronous, so that no query sees a partial change. */
  apply(changes: Iterable<readonly [NodeId, ListedRecord | null]>): number {
    let changed = 0;
    for (const [id, listed] of changes) if (this.#put(id, listed)) changed += 1;
    this.#segments.live.settle();
    this.#segments.test.settle();
    return changed;
  }

  select(query: ListingQuery, request: ParsedFilters = parseFilters(query.filters)): Selection {
    const sort = query.sort ?? [];
    const order = sort.map(({ field, dir }) => `${field}:${dir}`).join();
    const keys = sort.map(({ field, dir }) => this.#sortKey(fieldOf(field).column, dir));
    const position = query.cursor == null ? null : fromCursor(order, sort.length, query.cursor);
    const limit = query.limit ?? Number.POSITIVE_INFINITY;
    // One more than the limit shows whether there is a next page.
    const found = this.#sorted(this.#filter(request, keys, position), keys, limit + 1);
    const shown = found.subarray(0, Math.min(found.length, limit));
    const last = shown.at(-1);
    const hasMore = found.length > limit && last !== undefined;
    return {
      runs: this.#runs(shown),
      nextCursor:
        query.limit == null ? undefined : hasMore ? toCursor(order, this.#positionOf(last, keys)) : null,
    };
  }

  /** Returns slots in order of id. Each filter has its own loop, which is fast. */
  #filter(request: ParsedFilters, keys: readonly SortKey[], position: SortPosition | null): Uint32Array {
    let found = this.#order(request.withTest);
    for (const { column: name, passes, among } of request.filters) {
      const column = this.#column(name);
      found = filterByMask(found, column.codes, column.mask(passes, among));
    }
    if (position === null) return found;
    return filterSlots(
      found,
      isAfterPosition(keys, position, (slot) => this.#ids[slot] ?? ''),
    );
  }

  #sorted(slots: Uint32Array, keys: readonly SortKey[], most: number): Uint32Array {
    const [first] = keys;
    if (first === undefined) return slots;
    return sortSlots(selectTopByRank(slots, first, most, foundScratch.take(slots.length)), keys);
  }

  #sortKey(name: string, direction: Direction): SortKey {
    if (name === 'id') return this.#idKey(direction);
    const column = this.#column(name);
    return { codes: column.codes, ranking: column.ranking(direction), direction };
  }

  /** Ids are already in order, and sorting them after each change would be slow. */
  #idKey(direction: Direction): SortKey {
    const known = this.#idKeys.get(direction);
    if (known !== undefined) return known;
    const order = this.#order(true);
    const slots = direction === 'asc' ? order : order.toReversed();
    const rankOf = new Uint32Array(this.#capacity);
    for (const [rank, slot] of slots.entries()) rankOf[slot] = rank;
    const ranking = {
      rankOf,
      values: Array.from(slots, (slot) => this.#ids[slot] ?? ''),
      ranks: slots.length + 1,
    };
    const key = { codes: Uint32Array.from(rankOf.keys()), ranking, direction };
    this.#idKeys.set(direction, key);
    return key;
  }

  #runs(slots: Uint32Array): readonly ByteRange[] {
    // Usually there are no test machines.
    if (this.#segments.test.isEmpty) return this.#segments.live.runs(slots);
    return [...slots].flatMap((slot) => this.#segments[this.#modes[slot] ?? 'live'].runs([slot]));
  }

  #positionOf(slot: number, keys: readonly SortKey[]): SortPosition {
    return {
      id: this.#ids[slot] ?? '',
      values: keys.map(({ codes, ranking }) => ranking.values[ranking.rankOf[codes[slot] ?? 0] ?? 0] ?? null),
    };
  }

  #order(withTest: boolean): Uint32Array {
    const known = this.#orders.get(withTest);
    if (known !== undefined) return known;
    const live = this.#segments.live.slots();
    const slots = withTest ? [...live, ...this.#segments.test.slots()] : live;
    if (withTest) slots.sort((a, b) => ((this.#ids[a] ?? '') < (this.#ids[b] ?? '') ? -1 : 1));
    const order = Uint32Array.from(slots);
    this.#orders.set(withTest, order);
    return order;
  }

  #put(id: NodeId, listed: ListedRecord | null): boolean {
    const slot = this.#slotOf.get(id);
    if (listed === null) {
      if (slot !== undefined) this.#remove(id, slot);
      return slot !== undefined;
    }
    const json = JSON.stringify(listed.record);
    if (slot === undefined) this.#add(id, listed, json);
    else return this.#replace(slot, listed.record, json);
    return true;
  }

  #add(id: NodeId, { record, mode }: ListedRecord, json: string): void {
    const slot = this.#free.pop() ?? this.#ids.length;
    if (slot >= this.#capacity) this.#grow();
    this.#slotOf.set(id, slot);
    this.#ids[slot] = id;
    this.#modes[slot] = mode;
    this.#segments[mode].put(slot, json);
    this.#digest.add(Buffer.from(json));
    for (const [name, read] of columnReaders) this.#column(name).add(slot, read(record));
    this.#removeOrder();
  }

  #replace(slot: number, record: MachineRecord, json: string): boolean {
    // A node never changes its mode.
    const segments = this.#segments[this.#modes[slot] ?? 'live'];
    const before = segments.row(slot);
    const after = Buffer.from(json);
    if (before.equals(after)) return false;
    this.#digest.remove(before);
    this.#digest.add(after);
    segments.put(slot, json);
    for (const [name, read] of columnReaders) this.#column(name).replace(slot, read(record));
    return true;
  }

  #remove(id: NodeId, slot: number): void {
    const segments = this.#segments[this.#modes[slot] ?? 'live'];
    this.#digest.remove(segments.row(slot));
    segments.remove(slot);
    for (const column of this.#columns.values()) column.remove(slot);
    this.#slotOf.delete(id);
    this.#ids[slot] = '';
    this.#free.push(slot);
    this.#removeOrder();
  }

  #removeOrder(): void {
    this.#orders.clear();
    this.#idKeys.clear();
  }

  #grow(): void {
    this.#capacity = Math.max(FIRST_CAPACITY, this.#capacity * 2);
    for (const column of this.#columns.values()) column.grow(this.#capacity);
  }

  #column(name: string): Column {
    const column = this.#columns.get(name);
    if (column === undefined) throw new Error(`Column ${name} does not exist.`);
    return column;
  }
}

/** May write in place, because each entry is read before it is overwritten. */
function filterByMask(slots: Uint32Array, codes: Uint32Array, mask: Uint8Array): Uint32Array {
  const found = foundScratch.take(slots.length);
  let count = 0;
  for (let index = 0; index < slots.length; index += 1) {
    const slot = slots[index] ?? 0;
    found[count] = slot;
    count += mask[codes[slot] ?? 0] ?? 0;
  }
  return found.subarray(0, count);
}

/** Like `filterByMask`, with a test per slot. */
function filterSlots(slots: Uint32Array, isMeant: (slot: number) => boolean): Uint32Array {
  const found = foundScratch.take(slots.length);
  let count = 0;
  for (let index = 0; index < slots.length; index += 1) {
    const slot = slots[index] ?? 0;
    found[count] = slot;
    if (isMeant(slot)) count += 1;
  }
  return found.subarray(0, count);
}
