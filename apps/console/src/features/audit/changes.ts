import { usdText } from '@millrace/sdk/text';
import { dateFormat } from '../../ui/logic/date-format.ts';

/** The changed fields of an audit entry as text. */

export interface FieldChange {
  readonly field: string;
  /** Undefined: the entry has no earlier value. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

type Details = Readonly<Record<string, unknown>>;

/** Fields with equal values are left out: they say what was changed, not how. */
export function fieldChanges(details: Details): readonly FieldChange[] {
  const [before, after] = [recordOf(details['before']), recordOf(details['after'])];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .map((name) => ({
      field: fieldLabel(name),
      before: name in before ? valueText(name, before[name]) : undefined,
      after: name in after ? valueText(name, after[name]) : undefined,
    }))
    .filter((change) => change.before !== change.after && !isAbsent(change));
}

/** More fields are shown on demand. */
const SHOWN_CHANGES = 3;
/** About two lines; lists of permissions have ten times as many characters. */
const LONG_VALUE = 80;

/** Splits the changes into those that are shown at once and those that are shown on demand, such as long values. */
export function splitChanges(changes: readonly FieldChange[]): {
  readonly shown: readonly FieldChange[];
  readonly more: readonly FieldChange[];
} {
  const isShort = ({ before = '', after = '' }: FieldChange): boolean =>
    before.length <= LONG_VALUE && after.length <= LONG_VALUE;
  const shown = new Set(changes.filter(isShort).slice(0, SHOWN_CHANGES));
  return { shown: [...shown], more: changes.filter((change) => !shown.has(change)) };
}

/** A field that was not set at creation. */
function isAbsent({ before, after }: FieldChange): boolean {
  return (before === undefined && after === NONE) || (after === undefined && before === NONE);
}

/** The name of the resource, if the entry has it. */
export function resourceName(details: Details): string | null {
  for (const side of [recordOf(details['after']), recordOf(details['before'])]) {
    for (const field of ['name', 'label', 'email', 'url']) {
      const value = side[field];
      if (typeof value === 'string' && value !== '') return value;
    }
  }
  return null;
}

function recordOf(value: unknown): Details {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Details) : {};
}

/** `finalCostNanoUsd` is shown as dollars, so its label is "Final cost". */
export function fieldLabel(name: string): string {
  const words = name
    .replace(/NanoUsd$/, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[._]/g, ' ')
    .toLowerCase()
    .split(' ')
    .map((word) => abbreviations[word] ?? word)
    .join(' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const abbreviations: Readonly<Record<string, string>> = {
  gb: 'GB',
  gpu: 'GPU',
  gpus: 'GPUs',
  id: 'ID',
  ids: 'IDs',
  ssh: 'SSH',
  ttl: 'TTL',
  url: 'URL',
  usd: 'USD',
};

const NONE = 'none';

const time = dateFormat({ dateStyle: 'medium', timeStyle: 'long' });

function valueText(name: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return NONE;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return textOf(name, value);
  if (Array.isArray(value)) {
    return value.length === 0 ? NONE : value.map((each) => valueText(name, each)).join(', ');
  }
  return recordText(recordOf(value), name === 'tags');
}

function textOf(name: string, value: string): string {
  if (name.endsWith('NanoUsd') && /^-?\d+$/.test(value)) return usdText(BigInt(value));
  if (/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(value)) return time(new Date(value));
  return value;
}

/** Tenants name the fields of tags; other fields have names of the API, which are shown as words. */
function recordText(record: Details, isNamedByTenant: boolean): string {
  const entries = Object.entries(record).filter(([name, value]) => valueText(name, value) !== NONE);
  if (entries.length === 0) return NONE;
  return entries
    .map(([name, value]) => `${isNamedByTenant ? name : fieldLabel(name)}: ${valueText(name, value)}`)
    .join(', ');
}
