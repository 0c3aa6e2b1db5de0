/** Parses server-sent events from text in any pieces. */

export interface ServerEvent {
  readonly id: string | null;
  readonly event: string | null;
  /** Null: the event has only an id, which sets the position. */
  readonly data: string | null;
}

/** Limits memory: a larger event is a fault of the server. */
const maxEventChars = 16 * 1024 * 1024;

/** Returns complete events; an unfinished event is never returned. */
export class EventParser {
  #rest = '';
  #data: string[] = [];
  #event: string | null = null;
  #id: string | null = null;
  #isNewId = false;
  #held = 0;

  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    this.#rest += text;
    let from = 0;
    for (;;) {
      const end = this.#lineEnd(from);
      if (end === null) break;
      const found = this.#line(this.#rest.slice(from, end.at));
      if (found !== null) events.push(found);
      from = end.next;
    }
    this.#rest = this.#rest.slice(from);
    if (this.#rest.length + this.#held > maxEventChars) {
      throw new RangeError(`an event is longer than ${maxEventChars} characters`);
    }
    return events;
  }

  /** Lines end in CR LF, LF or CR. A CR at the end of the buffer may be half of a CR LF. */
  #lineEnd(from: number): { readonly at: number; readonly next: number } | null {
    const newline = this.#rest.indexOf('\n', from);
    const carriage = this.#rest.indexOf('\r', from);
    if (carriage === -1 || (newline !== -1 && newline < carriage)) {
      return newline === -1 ? null : { at: newline, next: newline + 1 };
    }
    if (carriage === this.#rest.length - 1) return null;
    return { at: carriage, next: this.#rest[carriage + 1] === '\n' ? carriage + 2 : carriage + 1 };
  }

  #line(line: string): ServerEvent | null {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    switch (name) {
      case 'data':
        this.#data.push(value);
        this.#held += value.length;
        break;
      case 'event':
        this.#event = value;
        break;
      case 'id':
        if (value.includes('\0')) break;
        this.#id = value;
        this.#isNewId = true;
        break;
      default:
    }
    return null;
  }

  #dispatch(): ServerEvent | null {
    const event = this.#event;
    const data = this.#data;
    const isNewId = this.#isNewId;
    this.#event = null;
    this.#data = [];
    this.#isNewId = false;
    this.#held = 0;
    if (data.length > 0) return { id: this.#id, event, data: data.join('\n') };
    return isNewId ? { id: this.#id, event, data: null } : null;
  }
}
