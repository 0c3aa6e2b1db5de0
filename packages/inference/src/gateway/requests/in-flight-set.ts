/**
 * Those who are here at the moment. A `Set` would do, were it not for how V8 lets one grow: a table that it has outgrown goes
 * on pointing to all who stood in it, and to the table after it. Once one of them has become old, so do all that follow with
 * everybody in them, and what a request leaves behind waits for the long collections instead of going with the short ones.
 */
export class InFlightSet<Guest> {
  readonly #seats: InFlightEntry<Guest>[] = [];

  get size(): number {
    return this.#seats.length;
  }

  add(guest: Guest): InFlightEntry<Guest> {
    const seat = { guest, place: this.#seats.length };
    this.#seats.push(seat);
    return seat;
  }

  /** The last of the list takes the place: there is no order. A second time does nothing. */
  leave(seat: InFlightEntry<Guest>): void {
    if (seat.place < 0) return;
    const last = this.#seats.pop();
    if (last !== undefined && last !== seat) {
      last.place = seat.place;
      this.#seats[seat.place] = last;
    }
    seat.place = -1;
  }

  /** All who are here now. Who comes or goes while they are looked at changes nothing of that. */
  list(): readonly Guest[] {
    return this.#seats.map(({ guest }) => guest);
  }
}

export interface InFlightEntry<Guest> {
  readonly guest: Guest;
  /** Where in the list it is; -1 once it was left. */
  place: number;
}
