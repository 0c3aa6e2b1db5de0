import { automatonOf, TooManyStates, type Automaton } from './automaton.ts';
import { componentsOf } from './components.ts';
import { graphOf, NotAnalysable, type Graph } from './graph.ts';

/**
 * How the work of a backtracking matcher grows with the length of the text. Two paths for one text around the same loop mean
 * exponential work. A text that stays in one loop and also leads to a later loop means at least quadratic work, because the paths
 * can change over at any position (Weber and Seidl, "On the degree of ambiguity of finite automata", 1991). The search for the
 * start of a match is the first loop of every expression without `^`.
 */
export type Growth =
  | { readonly kind: 'linear' }
  | { readonly kind: 'polynomial' | 'exponential'; readonly repeat: string }
  | { readonly kind: 'unknown'; readonly why: string };

const known = new Map<string, Growth>();

export function growthOf(source: string, flags: string): Growth {
  const key = `${flags}/${source}`;
  const found = known.get(key) ?? computeGrowth(source, flags);
  known.set(key, found);
  return found;
}

function computeGrowth(source: string, flags: string): Growth {
  try {
    const graph = graphOf(source, flags);
    const repeats = flags.includes('g');
    for (const searches of flags.includes('y') ? [false] : [false, true]) {
      const growth = growthIn(graph, automatonOf(graph, { searches, repeats }));
      if (growth !== null) return growth;
    }
    return { kind: 'linear' };
  } catch (error) {
    if (error instanceof NotAnalysable || error instanceof TooManyStates)
      return { kind: 'unknown', why: error.message };
    throw error;
  }
}

function growthIn(graph: Graph, automaton: Automaton): Growth | null {
  const walk = walkOf(automaton);
  const loops = componentsOf(walk.states, (state) => walk.next(state).map(({ to }) => to)).filter(
    (component) => component.isCycle,
  );
  const show = (read: number): string => graph.alphabet.example(read);
  for (const { members } of loops) {
    const read = exponentialIn(walk, new Set(members));
    if (read !== null) return { kind: 'exponential', repeat: show(read) };
  }
  for (const first of loops) {
    for (const later of loops) {
      if (first === later) continue;
      const read = polynomialBetween(walk, new Set(first.members), new Set(later.members));
      if (read !== null) return { kind: 'polynomial', repeat: show(read) };
    }
  }
  return null;
}

interface Move {
  readonly read: number;
  readonly to: number;
  readonly paths: 1 | 2;
}

interface SearchGraph {
  readonly states: readonly number[];
  next(state: number): readonly Move[];
  by(state: number, read: number): readonly number[];
  readonly classes: number;
}

/** The automaton without its success states. */
function walkOf({ steps, succeeded }: Automaton): SearchGraph {
  const states = steps.map((_, state) => state).filter((state) => !succeeded.has(state));
  const moves = steps.map((byClass) =>
    byClass.flatMap((found, read) =>
      found.filter(({ to }) => !succeeded.has(to)).map(({ to, paths }) => ({ read, to, paths })),
    ),
  );
  const targets = steps.map((byClass) =>
    byClass.map((found) => found.map(({ to }) => to).filter((to) => !succeeded.has(to))),
  );
  return {
    states,
    classes: steps[0]?.length ?? 0,
    next: (state) => moves[state] ?? [],
    by: (state, read) => targets[state]?.[read] ?? [],
  };
}

/** Finds two different paths for one text from a state of the loop back to itself. Returns the character at which they part. */
function exponentialIn(walk: SearchGraph, loop: ReadonlySet<number>): number | null {
  for (const state of loop) {
    const twice = walk.next(state).find(({ to, paths }) => paths === 2 && loop.has(to));
    if (twice !== undefined) return twice.read;
  }
  const inLoop = (state: number, read: number): number[] => walk.by(state, read).filter((to) => loop.has(to));
  const seen = new Set<string>();
  const open: { pair: readonly [number, number]; parted: number }[] = [];
  const add = (left: number, right: number, parted: number): boolean => {
    if (left === right) return true;
    const key = `${left} ${right}`;
    if (!seen.has(key)) {
      seen.add(key);
      open.push({ pair: [left, right], parted });
    }
    return false;
  };
  for (const state of loop) {
    for (let read = 0; read < walk.classes; read++) {
      const targets = inLoop(state, read);
      for (const left of targets) for (const right of targets) if (left !== right) add(left, right, read);
    }
  }
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const { pair, parted } = at;
    for (let read = 0; read < walk.classes; read++) {
      for (const left of inLoop(pair[0], read)) {
        for (const right of inLoop(pair[1], read)) if (add(left, right, parted)) return parted;
      }
    }
  }
  return null;
}

/**
 * Finds a text that leads from p in the first loop to p and to q in the later loop, and from q to q: a path from (p, p, q) to (p,
 * q, q) by the same characters. With an edge back from every (p, q, q) to (p, p, q), such a path exists exactly if one of these
 * edges is on a cycle.
 */
function polynomialBetween(
  walk: SearchGraph,
  first: ReadonlySet<number>,
  later: ReadonlySet<number>,
): number | null {
  type Triple = readonly [number, number, number];
  const between = leadingTo(walk, later);
  if (![...first].some((state) => between.has(state))) return null;
  const numbers = new Map<string, number>();
  const triples: Triple[] = [];
  const numberOf = (triple: Triple): number => {
    const key = triple.join(' ');
    const known = numbers.get(key);
    if (known !== undefined) return known;
    numbers.set(key, triples.length);
    triples.push(triple);
    return triples.length - 1;
  };
  for (const p of first) for (const q of later) numberOf([p, p, q]);
  const edges: number[][] = [];
  for (let number = 0; number < triples.length; number++) {
    const [left, middle, right] = triples[number] ?? [0, 0, 0];
    const found: number[] = [];
    for (let read = 0; read < walk.classes; read++) {
      const lefts = walk.by(left, read).filter((to) => first.has(to));
      const rights = walk.by(right, read).filter((to) => later.has(to));
      if (lefts.length === 0 || rights.length === 0) continue;
      const middles = walk.by(middle, read).filter((to) => between.has(to));
      for (const l of lefts) for (const m of middles) for (const r of rights) found.push(numberOf([l, m, r]));
    }
    if (middle === right && left !== middle) found.push(numberOf([left, left, right]));
    edges.push(found);
  }
  const all = triples.map((_, number) => number);
  for (const { members } of componentsOf(all, (number) => edges[number] ?? [])) {
    const inside = new Set(members);
    const closing = members.find((number) => {
      const [left, middle, right] = triples[number] ?? [0, 0, 0];
      if (middle !== right || left === middle) return false;
      return inside.has(numbers.get(`${left} ${left} ${right}`) ?? -1);
    });
    if (closing === undefined) continue;
    const [left, , right] = triples[closing] ?? [0, 0, 0];
    const shared = walk
      .next(right)
      .find(({ read, to }) => later.has(to) && walk.by(left, read).some((target) => first.has(target)));
    return shared?.read ?? 0;
  }
  return null;
}

/** The states from which the loop can be reached. */
function leadingTo(walk: SearchGraph, loop: ReadonlySet<number>): ReadonlySet<number> {
  const reaching = new Set(loop);
  for (let grew = true; grew;) {
    grew = false;
    for (const state of walk.states) {
      if (reaching.has(state) || !walk.next(state).some(({ to }) => reaching.has(to))) continue;
      reaching.add(state);
      grew = true;
    }
  }
  return reaching;
}
