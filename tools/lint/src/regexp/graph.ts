import { JS, type CharSet, type NoParent, type Concatenation, type Element } from 'refa';
import { alphabetOf, type Alphabet } from './alphabet.ts';

/** A graph of empty edges and edges that read one character. A backtracking matcher tries every path. */
export interface Graph {
  readonly alphabet: Alphabet;
  readonly nodes: readonly GraphNode[];
  readonly start: number;
  readonly accept: number;
  /** Whether an edge depends on the previous character. */
  readonly looksBack: boolean;
}

export interface GraphNode {
  readonly empty: EmptyEdge[];
  readonly reads: { readonly classes: ReadonlySet<number>; readonly to: number }[];
}

export interface EmptyEdge {
  readonly to: number;
  readonly guard: Guard | null;
  /** Edge from the end of a loop's body to its start. JavaScript does not follow it after an empty iteration. */
  readonly repeats: boolean;
}

/** Condition on the character before or after a position: the allowed classes, and whether the edge of the text is allowed. */
export interface Guard {
  readonly at: 'before' | 'after';
  readonly classes: ReadonlySet<number>;
  readonly edge: boolean;
}

/** An expression that this check cannot analyse. */
export class NotAnalysable extends Error {}

type Part = NoParent<Element>;
type Sequence = NoParent<Concatenation>;

/** A larger bound counts as no bound. */
const MAX_REPEATS = 256;
/** Smaller bounds are cut to this many copies: more copies change the factor, not the growth. */
const REPEAT_COPIES = 3;

export function graphOf(source: string, flags: string): Graph {
  const { expression, maxCharacter } = parse(source, flags);
  const all = expression.alternatives;
  const alphabet = alphabetOf(setsIn(all), maxCharacter);
  const builder = new Builder(alphabet);
  const start = builder.node();
  const accept = builder.node();
  builder.alternatives(all, start, accept);
  return { alphabet, nodes: builder.nodes, start, accept, looksBack: builder.looksBack };
}

function parse(source: string, flags: string): ReturnType<JS.Parser['parse']> {
  try {
    return JS.Parser.fromLiteral({ source, flags }).parse({ simplify: false, backreferences: 'throw' });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new NotAnalysable(why, { cause: error });
  }
}

function setsIn(sequences: readonly Sequence[]): CharSet[] {
  return sequences.flatMap(({ elements }) =>
    elements.flatMap((element) => {
      if (element.type === 'CharacterClass') return [element.characters];
      return element.type === 'Unknown' ? [] : setsIn(element.alternatives);
    }),
  );
}

class Builder {
  readonly nodes: GraphNode[] = [];
  readonly #alphabet: Alphabet;
  looksBack = false;

  constructor(alphabet: Alphabet) {
    this.#alphabet = alphabet;
  }

  node(): number {
    this.nodes.push({ empty: [], reads: [] });
    return this.nodes.length - 1;
  }

  alternatives(sequences: readonly Sequence[], from: number, to: number): void {
    for (const { elements } of sequences) {
      let at = from;
      for (const element of elements) {
        const next = this.node();
        this.#part(element, at, next);
        at = next;
      }
      this.#join(at, to);
    }
  }

  #join(from: number, to: number, guard: Guard | null = null): void {
    this.nodes[from]?.empty.push({ to, guard, repeats: false });
  }

  #part(part: Part, from: number, to: number): void {
    switch (part.type) {
      case 'CharacterClass':
        this.nodes[from]?.reads.push({ classes: this.#alphabet.classesOf(part.characters), to });
        return;
      case 'Alternation':
        this.alternatives(part.alternatives, from, to);
        return;
      case 'Quantifier':
        this.#repeat(part.alternatives, { min: part.min, max: part.max }, [from, to]);
        return;
      case 'Assertion':
        this.#assertion(part, from, to);
        return;
      case 'Unknown':
        throw new NotAnalysable(`it contains ${part.id}`);
    }
  }

  #repeat(
    body: readonly Sequence[],
    times: { min: number; max: number },
    [from, to]: [number, number],
  ): void {
    const isEndless = times.max > MAX_REPEATS;
    const min = Math.min(times.min, REPEAT_COPIES);
    const max = isEndless ? Infinity : Math.max(min, Math.min(times.max, REPEAT_COPIES));
    let at = from;
    for (let count = 0; count < min; count++) at = this.#copy(body, at);
    if (isEndless) {
      // The empty edge keeps the loop separate from the nodes before it.
      const loop = this.node();
      this.#join(at, loop);
      const end = this.#copy(body, loop);
      this.nodes[end]?.empty.push({ to: loop, guard: null, repeats: true });
      this.#join(loop, to);
      return;
    }
    for (let count = min; count < max; count++) {
      this.#join(at, to);
      at = this.#copy(body, at);
    }
    this.#join(at, to);
  }

  #copy(body: readonly Sequence[], from: number): number {
    const end = this.node();
    this.alternatives(body, from, end);
    return end;
  }

  #assertion(
    assertion: { kind: 'ahead' | 'behind'; negate: boolean; alternatives: readonly Sequence[] },
    from: number,
    to: number,
  ): void {
    const guard = this.#guardOf(assertion);
    if (guard !== null) {
      if (guard.at === 'before') this.looksBack = true;
      this.#join(from, to, guard);
      return;
    }
    if (assertion.kind === 'behind') {
      if (hasEndlessLoop(assertion.alternatives))
        throw new NotAnalysable('its lookbehind has no maximum length');
      this.#join(from, to);
      return;
    }
    // A lookahead is separate work that leads to no match. The match continues from the same position and may fail here.
    this.alternatives(assertion.alternatives, from, this.node());
    this.#join(from, to, { at: 'after', classes: new Set(this.#allClasses()), edge: true });
  }

  /** Handles assertions about one character, such as `^`, `$` and each half of `\b`. */
  #guardOf(assertion: {
    kind: 'ahead' | 'behind';
    negate: boolean;
    alternatives: readonly Sequence[];
  }): Guard | null {
    const classes = new Set<number>();
    for (const { elements } of assertion.alternatives) {
      const [only] = elements;
      if (elements.length !== 1 || only?.type !== 'CharacterClass') return null;
      for (const each of this.#alphabet.classesOf(only.characters)) classes.add(each);
    }
    const at = assertion.kind === 'ahead' ? 'after' : 'before';
    if (!assertion.negate) return { at, classes, edge: false };
    return { at, classes: new Set(this.#allClasses().filter((each) => !classes.has(each))), edge: true };
  }

  #allClasses(): number[] {
    return Array.from({ length: this.#alphabet.size }, (_, index) => index);
  }
}

function hasEndlessLoop(sequences: readonly Sequence[]): boolean {
  return sequences.some(({ elements }) =>
    elements.some((element) => {
      if (element.type === 'CharacterClass' || element.type === 'Unknown') return false;
      if (element.type === 'Quantifier' && element.max > MAX_REPEATS) return true;
      return hasEndlessLoop(element.alternatives);
    }),
  );
}
