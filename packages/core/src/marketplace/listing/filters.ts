import type { Body, Contract, MarketplaceFilterField } from '@millrace/contract';
import type { Value } from './column.ts';
import { fieldOf, isFilterField } from './fields.ts';

/** Converts the filters of a query to tests on columns. Pure. */

export type ListingQuery = Body<Contract['operations']['listMarketplaceMachines']>;
export type Filters = ListingQuery['filters'];

export interface Filter {
  readonly column: string;
  readonly passes: (values: readonly Value[]) => boolean;
  /** If set, only these values can pass, so no search is needed. */
  readonly among: readonly Value[] | null;
}

export interface ParsedFilters {
  readonly filters: readonly Filter[];
  readonly ignored: readonly string[];
  /** Whether a filter names the region of test machines, which are hidden otherwise. */
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

/** One of several values must match, or none for `neq` and `notin`, which also pass without the field. */
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

/** Both lists may be long, so the requested values are normalised once. */
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
