import type { Graph, Guard } from './graph.ts';

/** States of a matcher between two characters, without empty edges. The search for the start of a match is a loop in front. */
export interface Automaton {
  /** Indexed by state, then by class of characters. */
  readonly steps: readonly (readonly (readonly Step[])[])[];
  /** States in which the match has succeeded, whatever follows, so no work comes after them. */
  readonly succeeded: ReadonlySet<number>;
}

export interface Step {
  readonly to: number;
  /** Number of paths for the same character; 2 means more than one. */
  readonly paths: 1 | 2;
}

const atStart = -1;
const unknownBefore = -2;
const searching = -1;
/** Far more states than any expression in the repository has. */
const MAX_STATES = 4_000;

export class TooManyStates extends Error {}

interface MatcherPosition {
  /** The node after the last edge that read a character, or the search. */
  readonly node: number;
  /** The class of the last character. */
  readonly before: number;
}

export interface AutomatonOptions {
  /** Whether a match may start anywhere, or only at the start of the text. */
  readonly searches: boolean;
  /** Whether the search continues after a match. */
  readonly repeats: boolean;
}

export function automatonOf(graph: Graph, options: AutomatonOptions): Automaton {
  const numbers = new Map<string, number>();
  const places: MatcherPosition[] = [];
  const steps: Step[][][] = [];
  const succeeded = new Set<number>();
  const numberOf = (place: MatcherPosition): number => {
    const key = `${place.node} ${place.before}`;
    const known = numbers.get(key);
    if (known !== undefined) return known;
    if (places.length >= MAX_STATES) throw new TooManyStates('it has too many states');
    numbers.set(key, places.length);
    places.push(place);
    return places.length - 1;
  };
  const classOf = (read: number): number => (graph.looksBack ? read : unknownBefore);
  if (options.searches) {
    // The start of the text has its own automaton.
    for (let read = 0; read < graph.alphabet.size; read++)
      numberOf({ node: searching, before: classOf(read) });
  } else numberOf({ node: graph.start, before: atStart });

  for (let state = 0; state < places.length; state++) {
    const { node, before } = places[state] ?? { node: 0, before: atStart };
    const isSearch = node === searching;
    const reached = reach(graph, isSearch ? graph.start : node, before);
    if (reached.accepts && !(isSearch && options.repeats)) succeeded.add(state);
    const byClass: Step[][] = [];
    for (let read = 0; read < graph.alphabet.size; read++) {
      const targets = new Map<number, number>();
      if (isSearch) targets.set(numberOf({ node: searching, before: classOf(read) }), 1);
      for (const { node: from, allowed } of reached.readers) {
        if (allowed !== null && !allowed.has(read)) continue;
        for (const { classes, to } of graph.nodes[from]?.reads ?? []) {
          if (!classes.has(read)) continue;
          const target = numberOf({ node: to, before: classOf(read) });
          targets.set(target, (targets.get(target) ?? 0) + 1);
        }
      }
      byClass.push([...targets].map(([to, paths]) => ({ to, paths: paths > 1 ? 2 : 1 })));
    }
    steps.push(byClass);
  }
  return { steps, succeeded };
}

interface Reached {
  /** Nodes with reading edges, once per empty path to them, and the classes that the guards on the path allow. */
  readonly readers: readonly { readonly node: number; readonly allowed: ReadonlySet<number> | null }[];
  readonly accepts: boolean;
}

const MAX_PATHS = 10_000;
/** A second entry covers an inner loop that is entered again from an outer one: two paths for one text. More add nothing. */
const MAX_ENTRIES = 2;

function reach(graph: Graph, start: number, before: number): Reached {
  const readers: { node: number; allowed: ReadonlySet<number> | null }[] = [];
  let accepts = false;
  let paths = 0;
  const entries = new Map<number, number>();
  const enter = (node: number, allowed: ReadonlySet<number> | null): void => {
    const earlier = entries.get(node) ?? 0;
    if (earlier >= MAX_ENTRIES || (allowed !== null && allowed.size === 0)) return;
    if (++paths > MAX_PATHS) throw new TooManyStates('it has too many paths without a character');
    entries.set(node, earlier + 1);
    if (node === graph.accept && allowed === null) accepts = true;
    const found = graph.nodes[node];
    if (found !== undefined && found.reads.length > 0) readers.push({ node, allowed });
    for (const { to, guard, repeats } of found?.empty ?? []) {
      if (repeats && (entries.get(to) ?? 0) > 0) continue;
      if (guard === null) enter(to, allowed);
      else if (guard.at === 'after') enter(to, intersect(allowed, guard));
      else if (mayFollow(guard, before)) enter(to, allowed);
    }
    entries.set(node, earlier);
  };
  enter(start, null);
  return { readers, accepts };
}

function intersect(allowed: ReadonlySet<number> | null, guard: Guard): ReadonlySet<number> {
  if (allowed === null) return guard.classes;
  return new Set([...guard.classes].filter((each) => allowed.has(each)));
}

function mayFollow(guard: Guard, before: number): boolean {
  if (before === unknownBefore) return true;
  return before === atStart ? guard.edge : guard.classes.has(before);
}
