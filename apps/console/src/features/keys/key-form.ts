import type { Scope } from '@millrace/contract/scopes';
import type { Input, Item } from '@millrace/sdk';
import { exactDuration, parseUsd, parseDuration, usdNumberText } from '@millrace/sdk/text';

export type ApiKey = Item<'listApiKeys'>;
export type Limits = ApiKey['limits'];
type Body = Input<'createApiKey'>;

/** Text fields of the key form. Empty means no limit. */
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
  /** Duration such as `90d`; empty: never. */
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
  { value: '1d', label: 'In 1 day' },
  { value: '30d', label: 'In 30 days' },
  { value: '90d', label: 'In 90 days' },
  { value: '365d', label: 'In 1 year' },
  { value: '', label: 'Never' },
] as const;

const splitNames = (typed: string): string[] => typed.split(/[\s,;]+/).filter((word) => word !== '');

/** Null if empty, undefined if invalid. */
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
    ...(name === '' ? { name: 'Enter a name that says what the key is for.' } : {}),
    ...(fields.scopes.size === 0 ? { scopes: 'Choose at least one permission.' } : {}),
    ...(maxUsdPerHour === undefined ? { maxUsdPerHour: 'Enter an amount in dollars, such as 20.' } : {}),
    ...(maxLiveRentals === undefined ? { maxLiveRentals: 'Enter a whole number, such as 4.' } : {}),
    ...(maxRentalSeconds === undefined
      ? { maxRentalTime: 'Enter a duration from 1 minute to 10 years, such as 12h or 7d.' }
      : {}),
    ...(budgetUsd === undefined ? { budgetUsd: 'Enter an amount above zero, such as 50.' } : {}),
    ...(rpm === undefined ? { rpm: 'Enter a whole number of 1 or more.' } : {}),
    ...(tpm === undefined ? { tpm: 'Enter a whole number of 1 or more.' } : {}),
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
      // The service validates regions and GPUs; a list here would become outdated.
      limits: limits as NonNullable<Body['limits']>,
      allowedIps: splitNames(fields.allowedIps),
      expiresAt: expires === null ? null : new Date(nowMs + expires * 1_000).toISOString(),
    },
  };
}

/** One line per limit; empty if the key has none. */
export function limitLines(limits: Limits): readonly string[] {
  const { maxUsdPerHour, maxLiveRentals, maxRentalSeconds, budget, rpm, tpm, models, regions, gpuTypes } =
    limits;
  const lines = [
    budget === null
      ? null
      : `${usdNumberText(budget.usd)} ${budget.period === 'total' ? 'in total' : `per ${budget.period}`}`,
    maxUsdPerHour === null ? null : `rentals up to ${usdNumberText(maxUsdPerHour)}/h`,
    maxLiveRentals === null ? null : `${String(maxLiveRentals)} concurrent rentals`,
    maxRentalSeconds === null ? null : `each rental up to ${exactDuration(maxRentalSeconds)}`,
    rpm === null ? null : `${String(rpm)} requests per minute`,
    tpm === null ? null : `${String(tpm)} tokens per minute`,
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
 * Example request for any key, and a gateway request if there is a gateway. The key is not on the command line, where
 * the shell history and other users could read it.
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
