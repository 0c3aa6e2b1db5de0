import type { Input } from '@millrace/sdk';
import { parseUsd, parseDuration, approximateDuration, ratio, usdText } from '@millrace/sdk/text';
import { shellQuoted } from '../playground/snippets.ts';
import { freeGpus, perHour, rentDisabledReason, type Machine } from './machine.ts';

/** Parses the rent form of a marketplace machine and finds what blocks it. */

export type CreateInstanceRequest = Input<'createMarketplaceInstance'>;

export interface InstanceDraft {
  readonly gpus: string;
  readonly image: string;
  /** Separated by commas or spaces. */
  readonly ports: string;
  readonly ttl: string;
  readonly maxUsd: string;
  /** Null: all of the user's keys. */
  readonly sshKeyIds: readonly string[] | null;
}

export const newDraft: InstanceDraft = {
  gpus: '1',
  image: '',
  ports: '',
  ttl: '',
  maxUsd: '',
  sshKeyIds: null,
};

type Issues = { readonly [Field in 'gpus' | 'ports' | 'ttl' | 'maxUsd']?: string };

const MAX_PORTS = 20;
const MIN_TTL_SECONDS = 60;
const MAX_TTL_SECONDS = 315_360_000;

function parsePorts(text: string): readonly number[] | null {
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  const ports = words.map(Number);
  return ports.every((port) => Number.isInteger(port) && port >= 1 && port <= 65_535) ? ports : null;
}

export interface ParsedRentForm {
  readonly issues: Issues;
  readonly gpus: number;
  readonly order: CreateInstanceRequest;
}

export function parseRentForm(draft: InstanceDraft, machine: Machine): ParsedRentForm {
  const free = freeGpus(machine);
  const gpus = /^\d{1,4}$/.test(draft.gpus.trim()) ? Number(draft.gpus) : Number.NaN;
  const ports = parsePorts(draft.ports);
  const ttl = draft.ttl.trim() === '' ? undefined : parseDuration(draft.ttl);
  const max = draft.maxUsd.trim() === '' ? undefined : parseUsd(draft.maxUsd);
  const issues: Issues = {
    ...(!(gpus >= 1 && gpus <= free) && { gpus: `Enter a whole number from 1 to ${String(free)}.` }),
    ...portIssue(ports, draft.image),
    ...((ttl === null || (ttl !== undefined && (ttl < MIN_TTL_SECONDS || ttl > MAX_TTL_SECONDS))) && {
      ttl: 'Enter a duration of at least 1 minute, such as 90m, 8h or 3d.',
    }),
    ...((max === null || (max !== undefined && max <= 0n)) && {
      maxUsd: 'Enter an amount in dollars, such as 20 or 12.50.',
    }),
  };
  const count = issues.gpus === undefined ? gpus : 1;
  return {
    issues,
    gpus: count,
    order: {
      cluster_name: machine.cluster_name,
      node_name: machine.id,
      gpu_count: count,
      ...(draft.image.trim() !== '' && {
        image: { ...parseImage(draft.image.trim()), ...(ports?.length && { ports: [...ports] }) },
      }),
      ...(draft.sshKeyIds !== null && { ssh_key_ids: [...draft.sshKeyIds] }),
      ...(typeof ttl === 'number' && { ttl_seconds: ttl }),
      ...(typeof max === 'bigint' && { max_usd: Number(usdText(max).replaceAll(/[$,]/g, '')) }),
    },
  };
}

function portIssue(ports: readonly number[] | null, image: string): { readonly ports?: string } {
  if (ports === null) return { ports: 'Enter numbers from 1 to 65535, such as 8080, 8443.' };
  if (ports.length > MAX_PORTS) return { ports: `At most ${String(MAX_PORTS)} ports.` };
  return ports.length > 0 && image.trim() === '' ? { ports: 'Ports need an image. Enter one above.' } : {};
}

/** Splits `ubuntu:24.04` into name and tag. */
export function parseImage(text: string): { readonly name: string; readonly tag?: string } {
  const [, name, tag] = /^(.+):([^:/]+)$/.exec(text) ?? [];
  return name === undefined || tag === undefined ? { name: text } : { name, tag };
}

export interface RentBlockerContext {
  readonly mayNot: string | false;
  /** Number of selected SSH keys; null while loading. */
  readonly keys: number | null;
  /** Available balance; null if unknown or hidden from this user. */
  readonly availableNanoUsd: string | null;
  readonly mode: 'live' | 'test';
}

export function findRentBlockers(
  machine: Machine,
  read: ParsedRentForm,
  standing: RentBlockerContext,
): readonly string[] {
  const { mayNot, keys, availableNanoUsd, mode } = standing;
  const away = rentDisabledReason(machine);
  const hour = perHour(machine, read.gpus);
  const isShort = mode === 'live' && availableNanoUsd !== null && BigInt(availableNanoUsd) < hour;
  return [
    ...(mayNot === false ? [] : [mayNot]),
    ...(away === null ? [] : [away]),
    ...Object.values(read.issues).filter((issue) => issue !== undefined),
    ...(keys === 0 ? ['Choose at least one SSH key. You cannot log in without one.'] : []),
    ...(keys === null ? ['Loading your SSH keys…'] : []),
    ...(isShort
      ? [
          `One hour costs ${usdText(hour)}, but only ${usdText(availableNanoUsd)} is available. Add money first.`,
        ]
      : []),
  ];
}

/** Runway with this instance and everything that already runs. */
export function runwayWith(availableNanoUsd: string, burnNanoUsd: bigint, hourNanoUsd: bigint): string {
  const burn = burnNanoUsd + hourNanoUsd;
  if (burn === 0n) return 'unlimited';
  return approximateDuration(ratio(Number(availableNanoUsd), Number(burn)) * 3_600);
}

export function rentCommand({ order }: ParsedRentForm, draft: InstanceDraft): string {
  const ports = order.image?.ports ?? [];
  return [
    `millrace market rent ${order.node_name}`,
    `--gpus ${String(order.gpu_count)}`,
    ...(draft.image.trim() === '' ? [] : [`--image ${shellQuoted(draft.image.trim())}`]),
    ...ports.map((port) => `--port ${String(port)}`),
    ...(order.ssh_key_ids ?? []).map((id) => `--ssh-key ${id}`),
    ...(order.ttl_seconds === undefined ? [] : [`--ttl ${String(order.ttl_seconds)}s`]),
    ...(order.max_usd === undefined ? [] : [`--max-usd ${draft.maxUsd.trim().replaceAll(/[$,]/g, '')}`]),
  ].join(' ');
}

/** Price labels. Test mode is free, so there they say that prices are live prices. */
export function priceLabels(mode: 'live' | 'test') {
  return mode === 'test'
    ? ({ gpu: 'Live price per GPU', each: 'Per GPU (live)' } as const)
    : ({ gpu: 'Price per GPU', each: 'Per GPU' } as const);
}
