import type { Scope } from '@millrace/contract/scopes';
import type { Input, Item } from '@millrace/sdk';
import { exactDuration, parseUsd, parseDuration, usdNumberText } from '@millrace/sdk/text';

export type ApiKey = Item<'listApiKeys'>;
export type Limits = ApiKey['limits'];
type Body = Input<'createApiKey'>;

/** What is typed about a key. Empty: no limit of its own. */
export interface KeyFields {
  readonly name: string;
  readonly mode: 'live' | 'test';
  readonly scopes: ReadonlySet<Scope>;
  readonly maxUsdPerHour: string;
  readonly maxLiveRentals: string;
  readonly maxRentalTime: string;
  readonly budgetUsd: string;
  readonly budgetPeriod: string;
  readonly rpm: string;
  readonly tpm: string;
  readonly models: string;
  readonly regions: string;
  readonly gpuTypes: string;
  readonly allowedIps: string;
  /** A span such as `90d`; empty: never. */
  readonly expires: string;
}

export function emptyKey(mode: 'live' | 'test', scopes: readonly Scope[], name: string): KeyFields {
  return {
    name,
    mode,
    scopes: new Set(scopes),
    maxUsdPerHour: '',
    maxLiveRentals: '',
    maxRentalTime: '',
    budgetUsd: '',
    budgetPeriod: 'month',
    rpm: '',
    tpm: '',
    models: '',
    regions: '',
    gpuTypes: '',
    allowedIps: '',
    expires: '90d',
  };
}

export type KeyIssues = Partial<Record<keyof KeyFields, string>>;

export const expiries = [
  { value: '1d', label: 'In a day' },
  { value: '30d', label: 'In 30 days' },
  { value: '90d', label: 'In 90 days' },
  { value: '365d', label: 'In a year' },
  { value: '', label: 'Never' },
] as const;

const splitNames = (typed: string): string[] => typed.split(/[\s,;]+/).filter((word) => word !== '');

/** Null: nothing was typed. Undefined: what was typed is no such number. */
function parseInteger(typed: string, least: number, most: number): number | null | undefined {
  const text = typed.trim().replaceAll(/[,_ ]/g, '');
  if (text === '') return null;
  const value = Number(text);
  return /^\d+$/.test(text) && value >= least && value <= most ? value : undefined;
}

function parseDollars(typed: string, positive: boolean): number | null | undefined {
  if (typed.trim() === '') return null;
  const nano = parseUsd(typed);
  if (nano === null || nano < 0n || (positive && nano === 0n)) return undefined;
  const value = Number(typed.trim().replaceAll(/[$,]/g, ''));
  return value <= 1_000_000_000 ? value : undefined;
}

function parseDurationSeconds(typed: string): number | null | undefined {
  if (typed.trim() === '') return null;
  const span = parseDuration(typed);
  return span === null || span < 60 || span > 315_360_000 ? undefined : span;
}

const listOrNull = (typed: string): string[] | null => {
  const words = splitNames(typed);
  return words.length === 0 ? null : words;
};

/** What was typed as the service takes it, or what is wrong with it. */
export function parseKeyForm(
  fields: KeyFields,
  nowMs: number,
): { readonly body: Body } | { readonly problems: KeyIssues } {
  const name = fields.name.trim();
  const maxUsdPerHour = parseDollars(fields.maxUsdPerHour, false);
  const maxLiveRentals = parseInteger(fields.maxLiveRentals, 0, 1_000_000);
  const maxRentalSeconds = parseDurationSeconds(fields.maxRentalTime);
  const budgetUsd = parseDollars(fields.budgetUsd, true);
  const rpm = parseInteger(fields.rpm, 1, 10_000_000);
  const tpm = parseInteger(fields.tpm, 1, 1_000_000_000_000);
  const expires = fields.expires === '' ? null : parseDuration(fields.expires);
  const problems: KeyIssues = {
    ...(name === '' ? { name: 'Give it a name that says what it is for.' } : {}),
    ...(fields.scopes.size === 0 ? { scopes: 'Choose at least one thing that it may do.' } : {}),
    ...(maxUsdPerHour === undefined ? { maxUsdPerHour: 'Dollars, such as 20.' } : {}),
    ...(maxLiveRentals === undefined ? { maxLiveRentals: 'A whole number, such as 4.' } : {}),
    ...(maxRentalSeconds === undefined
      ? { maxRentalTime: 'A span from a minute to ten years, such as 12h or 7d.' }
      : {}),
    ...(budgetUsd === undefined ? { budgetUsd: 'Dollars above zero, such as 50.' } : {}),
    ...(rpm === undefined ? { rpm: 'A whole number from 1.' } : {}),
    ...(tpm === undefined ? { tpm: 'A whole number from 1.' } : {}),
  };
  if (
    maxUsdPerHour === undefined ||
    maxLiveRentals === undefined ||
    maxRentalSeconds === undefined ||
    budgetUsd === undefined ||
    rpm === undefined ||
    tpm === undefined ||
    Object.keys(problems).length > 0
  ) {
    return { problems };
  }
  const limits = {
    maxUsdPerHour,
    maxLiveRentals,
    maxRentalSeconds,
    budget: budgetUsd === null ? null : { usd: budgetUsd, period: fields.budgetPeriod },
    rpm,
    tpm,
    models: listOrNull(fields.models),
    regions: listOrNull(fields.regions),
    gpuTypes: listOrNull(fields.gpuTypes)?.map((each) => each.toLowerCase()) ?? null,
  };
  return {
    body: {
      name,
      scopes: [...fields.scopes],
      mode: fields.mode,
      // The service says which regions and GPUs there are; a list here would be outdated with the next one.
      limits: limits as NonNullable<Body['limits']>,
      allowedIps: splitNames(fields.allowedIps),
      expiresAt: expires === null ? null : new Date(nowMs + expires * 1_000).toISOString(),
    },
  };
}

/** The limits of a key in words, each a line; none: it has no limits of its own. */
export function limitLines(limits: Limits): readonly string[] {
  const { maxUsdPerHour, maxLiveRentals, maxRentalSeconds, budget, rpm, tpm, models, regions, gpuTypes } =
    limits;
  const lines = [
    budget === null
      ? null
      : `${usdNumberText(budget.usd)} ${budget.period === 'total' ? 'in all' : `a ${budget.period}`}`,
    maxUsdPerHour === null ? null : `rentals up to ${usdNumberText(maxUsdPerHour)}/h`,
    maxLiveRentals === null ? null : `${String(maxLiveRentals)} rentals at a time`,
    maxRentalSeconds === null ? null : `each rental up to ${exactDuration(maxRentalSeconds)}`,
    rpm === null ? null : `${String(rpm)} requests a minute`,
    tpm === null ? null : `${String(tpm)} tokens a minute`,
    models === null ? null : `models ${models.join(', ')}`,
    regions === null ? null : `regions ${regions.join(', ')}`,
    gpuTypes === null ? null : `GPUs ${gpuTypes.join(', ')}`,
  ];
  return lines.filter((line) => line !== null);
}

export type KeyState = 'active' | 'expired' | 'revoked';

export function keyState(key: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, nowMs: number): KeyState {
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt !== null && Date.parse(key.expiresAt) <= nowMs ? 'expired' : 'active';
}

/**
 * A request that works with any key, and where there is a gateway one that asks it what it serves. The key is on no command line: the
 * history of the shell would keep it, and others on the machine could read it.
 */
export function keySnippet(
  scopes: readonly string[],
  urls: { readonly api: string; readonly inference: string | null },
): string {
  const curl = (url: string): string =>
    `printf 'Authorization: Bearer %s' "$MILLRACE_API_KEY" | curl -fsS -H @- '${url}'`;
  const api = urls.api.replace(/(?<!\/)\/+$/, '');
  const gateway = urls.inference?.replace(/(?<!\/)\/+$/, '');
  return [
    'read -rs MILLRACE_API_KEY  # paste the key, then press Enter',
    curl(`${api}/v2/me`),
    ...(gateway !== undefined && scopes.includes('inference:read') ? [curl(`${gateway}/v1/models`)] : []),
  ].join('\n');
}
