import type { Body, Contract, MarketplaceFilterField } from '@millrace/contract';
import type { Value } from './column.ts';
import { fieldOf, isFilterField } from './fields.ts';

/** What a caller asks of machines, made ready to be put to columns. Pure. */

export type ListingQuery = Body<Contract['operations']['listMarketplaceMachines']>;
export type Filters = ListingQuery['filters'];

export interface Filter {
  readonly column: string;
  readonly passes: (values: readonly Value[]) => boolean;
  /** Where it can pass only with one of these values: they need not be searched for. */
  readonly among: readonly Value[] | null;
}

export interface ParsedFilters {
  readonly filters: readonly Filter[];
  /** Keys that mean nothing here. */
  readonly ignored: readonly string[];
  /** It names the region of test machines: only then are these shown. */
  readonly withTest: boolean;
}

const TEST_REGION = 'mock-region';

interface Conditions {
  readonly eq?: Value | undefined;
  readonly neq?: Value | undefined;
  readonly gt?: Value | undefined;
  readonly gte?: Value | undefined;
  readonly lt?: Value | undefined;
  readonly lte?: Value | undefined;
  readonly in?: readonly Value[] | undefined;
  readonly notin?: readonly Value[] | undefined;
}

export function parseFilters(filters: Filters): ParsedFilters {
  const known: Filter[] = [];
  const ignored: string[] = [];
  for (const [name, value] of Object.entries(filters)) {
    if (!isFilterField(name)) ignored.push(name);
    else if (value !== undefined)
      known.push(columnFilter(name, conditionsOf(name, value as Value | Conditions)));
  }
  const regions = [filters.region, filters['location.region']];
  return { filters: known, ignored, withTest: regions.some(namesTestRegion) };
}

function conditionsOf(name: MarketplaceFilterField, conditions: Value | Conditions): Conditions {
  return typeof conditions === 'object' ? conditions : { [fieldOf(name).plain]: conditions };
}

/**
 * Of a field with several values one has to be as asked; where a value is not wanted, none may be it. A machine that does
 * not have the field at all so passes `neq` and `notin` and nothing else.
 */
function columnFilter(name: MarketplaceFilterField, conditions: Conditions): Filter {
  const { column, spelled } = fieldOf(name);
  const tests: ((values: readonly Value[]) => boolean)[] = [];
  const some = (holds: (value: Value) => boolean): void => void tests.push((values) => values.some(holds));
  const none = (holds: (value: Value) => boolean): void => void tests.push((values) => !values.some(holds));
  const { eq, neq, gt, gte, lt, lte, in: any, notin } = conditions;
  if (eq !== undefined) some(oneOf([eq], spelled));
  if (neq !== undefined) none(oneOf([neq], spelled));
  if (gt !== undefined) some((value) => value > gt);
  if (gte !== undefined) some((value) => value >= gte);
  if (lt !== undefined) some((value) => value < lt);
  if (lte !== undefined) some((value) => value <= lte);
  if (any !== undefined) some(oneOf(any, spelled));
  if (notin !== undefined) none(oneOf(notin, spelled));
  return {
    column,
    passes: (values) => tests.every((passes) => passes(values)),
    among: spelled === undefined ? (any ?? (eq === undefined ? null : [eq])) : null,
  };
}

/** A list may have a thousand entries, and so may the column. What was asked may be long, so it is spelled once. */
function oneOf(
  list: readonly Value[],
  spelled: ((value: Value) => string) | undefined,
): (value: Value) => boolean {
  if (spelled === undefined) {
    const wanted = new Set(list);
    return (value) => wanted.has(value);
  }
  const wanted = [...new Set(list.map(spelled))];
  return (value) => {
    const text = spelled(value);
    return wanted.some((each) => text.includes(each));
  };
}

function namesTestRegion(conditions: unknown): boolean {
  if (typeof conditions !== 'object' || conditions === null) return conditions === TEST_REGION;
  const { eq, in: any } = conditions as Conditions;
  return eq === TEST_REGION || any?.includes(TEST_REGION) === true;
}
