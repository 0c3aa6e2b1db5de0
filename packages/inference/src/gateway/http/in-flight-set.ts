/**
 * Replaces `Set` for objects in flight. When V8 grows a `Set`, the old table keeps pointing to its entries and to the next table.
 * Once one such table is in the old generation, all later ones are kept alive, so finished requests wait for a full collection
 * instead of a short one.
 */
export class InFlightSet<Guest> {
  readonly #entries: InFlightEntry<Guest>[] = [];

  get size(): number {
    return this.#entries.length;
  }

  add(guest: Guest): InFlightEntry<Guest> {
    const entry = { guest, place: this.#entries.length };
    this.#entries.push(entry);
    return entry;
  }

  /** Order does not matter: the last entry moves to the free index. Repeated calls are ignored. */
  leave(entry: InFlightEntry<Guest>): void {
    if (entry.place < 0) return;
    const last = this.#entries.pop();
    if (last !== undefined && last !== entry) {
      last.place = entry.place;
      this.#entries[entry.place] = last;
    }
    entry.place = -1;
  }

  /** A copy, so that entries can be added and removed during iteration. */
  list(): readonly Guest[] {
    return this.#entries.map(({ guest }) => guest);
  }
}

export interface InFlightEntry<Guest> {
  readonly guest: Guest;
  /** Index in the list; -1 after it left. */
  place: number;
}
