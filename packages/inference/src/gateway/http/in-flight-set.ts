/**
 * Those who are here at the moment. A `Set` would do, were it not for how V8 lets one grow: a table that it has outgrown goes
 * on pointing to all who stood in it, and to the table after it. Once one of them has become old, so do all that follow with
 * everybody in them, and what a request leaves behind waits for the long collections instead of going with the short ones.
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

  /** The last of the list takes the place: there is no order. A second time does nothing. */
  leave(entry: InFlightEntry<Guest>): void {
    if (entry.place < 0) return;
    const last = this.#entries.pop();
    if (last !== undefined && last !== entry) {
      last.place = entry.place;
      this.#entries[entry.place] = last;
    }
    entry.place = -1;
  }

  /** All who are here now. Who comes or goes while they are looked at changes nothing of that. */
  list(): readonly Guest[] {
    return this.#entries.map(({ guest }) => guest);
  }
}

export interface InFlightEntry<Guest> {
  readonly guest: Guest;
  /** Where in the list it is; -1 once it was left. */
  place: number;
}
