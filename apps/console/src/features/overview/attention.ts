import type { Item } from '@millrace/sdk';
import { approximateDuration, relativeText } from '@millrace/sdk/text';
import { headlineUsd } from '../../ui/logic/headline-usd.ts';
import { sortAttention, type AttentionItem } from '../../ui/logic/attention-items.ts';
import { budgetProgress, type Budget } from '../money/budgets.ts';
import { balanceWarning, type Balance } from '../money/runway.ts';
import { rentalTitle, type Rental } from '../rentals/rental.ts';
import {
  costIn30Days,
  isBilledUnused,
  phaseDescription,
  volumePhase,
  type Volume,
} from '../volumes/volume.ts';
import { isFaulty, webhookHealth, type Webhook } from '../webhooks/webhook-text.ts';
import type { Event } from './activity.ts';

/** Finds what the user should look at, with a link to the cause. */

type ListedRental = Pick<
  Rental,
  | 'id'
  | 'name'
  | 'label'
  | 'status'
  | 'statusReason'
  | 'expiresAt'
  | 'currentTerm'
  | 'convertToOnDemandOnExpiry'
>;
type ListedInstance = Pick<Item<'listMarketplaceInstances'>, 'id'> & {
  readonly instance: Pick<Item<'listMarketplaceInstances'>['instance'], 'status'>;
};

/** Undefined: not loaded, or the role cannot read it. */
export interface AttentionSources {
  readonly mode: 'live' | 'test';
  readonly rentals?: readonly ListedRental[] | undefined;
  readonly instances?: readonly ListedInstance[] | undefined;
  readonly volumes?: readonly Volume[] | undefined;
  readonly balance?: Balance | undefined;
  readonly budgets?: readonly Budget[] | undefined;
  readonly webhooks?: readonly Webhook[] | undefined;
  readonly events?: readonly Event[] | undefined;
}

const hourMs = 3_600_000;
const dayMs = 86_400_000;
const BUDGET_WARNING_PERCENT = 80;

/** The most serious first. */
export function attentionItems(sources: AttentionSources, nowMs: number): readonly AttentionItem[] {
  const { mode, rentals = [], instances = [], volumes = [], balance, budgets = [], webhooks = [] } = sources;
  // Events come last: the present state of a machine says more than its last failure.
  return sortAttention([
    ...(balance === undefined ? [] : balanceItems(balance, mode)),
    ...rentals.flatMap((rental) => rentalItems(rental, nowMs)),
    ...instances.flatMap(instanceItems),
    ...volumes.flatMap(volumeItems),
    ...unusedVolumeItems(volumes, nowMs),
    ...budgets.flatMap(budgetItems),
    ...webhooks.flatMap(webhookItems),
    ...eventItems(sources.events ?? [], nowMs),
  ]);
}

function balanceItems(balance: Balance, mode: 'live' | 'test'): readonly AttentionItem[] {
  const warning = balanceWarning(balance, mode);
  if (warning === null) return [];
  const { tone, title, advice } = warning;
  return [{ key: 'balance', tone, title: title.replace(/\.$/, ''), detail: advice, to: '/money' }];
}

function rentalItems(rental: ListedRental, nowMs: number): readonly AttentionItem[] {
  const { id, status } = rental;
  const item = { key: `rental-${String(id)}`, to: `/rentals/${String(id)}` };
  const title = rentalTitle(rental);
  if (status === 'Failed') {
    return [
      { ...item, tone: 'bad', title: `${title} failed`, detail: rental.statusReason ?? 'It is not billed.' },
    ];
  }
  if (status === 'Unknown') {
    const detail = 'The machine does not respond. Time without a response is refunded.';
    return [{ ...item, tone: 'bad', title: `${title} does not respond`, detail }];
  }
  return status === 'Running' ? expiryItems(rental, { ...item, title }, nowMs) : [];
}

function expiryItems(
  rental: ListedRental,
  item: Pick<AttentionItem, 'key' | 'to' | 'title'>,
  nowMs: number,
): readonly AttentionItem[] {
  const isIn24Hours = (at: string): boolean => Date.parse(at) - nowMs <= dayMs;
  const { expiresAt, currentTerm } = rental;
  if (expiresAt !== null && isIn24Hours(expiresAt)) {
    const title = `${item.title} ends ${relativeText(expiresAt, nowMs)}`;
    return [{ ...item, tone: 'warn', title, detail: 'Its time to live is over then. Extend it to keep it.' }];
  }
  const { reservedUntil } = currentTerm;
  if (reservedUntil === null || !isIn24Hours(reservedUntil)) return [];
  const detail =
    rental.convertToOnDemandOnExpiry === true
      ? 'It continues on demand at the price of that day.'
      : 'It is terminated then. Extend it to keep it.';
  const title = `The reserved term of ${item.title} ends ${relativeText(reservedUntil, nowMs)}`;
  return [{ ...item, tone: 'warn', title, detail }];
}

function instanceItems({ id, instance: { status } }: ListedInstance): readonly AttentionItem[] {
  const item = { key: `instance-${id}`, to: `/instances/${encodeURIComponent(id)}` };
  if (status === 'offline') {
    const detail = 'The host does not respond. Billing pauses after 5 minutes.';
    return [{ ...item, tone: 'bad', title: `Instance ${id} is offline`, detail }];
  }
  if (status !== 'failed') return [];
  return [{ ...item, tone: 'bad', title: `Instance ${id} failed`, detail: 'It is not billed.' }];
}

function volumeItems(volume: Volume): readonly AttentionItem[] {
  const phase = volumePhase(volume);
  if (phase !== 'unknown' && phase !== 'frozen') return [];
  const title = `Volume ${volume.label} ${phase === 'frozen' ? 'is frozen' : 'does not respond'}`;
  const to = `/volumes/${String(volume.id)}`;
  return [{ key: `volume-${String(volume.id)}`, tone: 'bad', title, detail: phaseDescription(volume), to }];
}

/** Volumes that cost money while no rental uses them. A new volume has an hour to be attached. */
function unusedVolumeItems(volumes: readonly Volume[], nowMs: number): readonly AttentionItem[] {
  const unused = volumes.filter(
    (volume) => isBilledUnused(volume) && nowMs - Date.parse(volume.createdAt) > hourMs,
  );
  const [first] = unused;
  if (first === undefined) return [];
  const cost = headlineUsd(unused.reduce((sum, volume) => sum + costIn30Days(volume), 0n)).text;
  const item = { key: 'unused-volumes', tone: 'info' } as const;
  if (unused.length === 1) {
    const title = `Volume ${first.label} is attached to nothing`;
    const detail = `It costs ${cost} in 30 days. Delete it if you no longer need it.`;
    return [{ ...item, title, detail, to: `/volumes/${String(first.id)}` }];
  }
  const names = new Intl.ListFormat('en').format(unused.map(({ label }) => label));
  const detail = `${names} cost ${cost} in 30 days. Delete those that you no longer need.`;
  return [
    { ...item, title: `${String(unused.length)} volumes are attached to nothing`, detail, to: '/volumes' },
  ];
}

function budgetItems(budget: Budget): readonly AttentionItem[] {
  const { percent } = budgetProgress(budget);
  if (percent < BUDGET_WARNING_PERCENT) return [];
  const isUsedUp = BigInt(budget.spentNanoUsd) >= BigInt(budget.limitNanoUsd);
  return [
    {
      key: `budget-${budget.id}`,
      tone: isUsedUp ? 'bad' : 'warn',
      title: `Budget ${budget.name} is ${isUsedUp ? 'used up' : `at ${String(percent)} %`}`,
      detail: budgetConsequences[budget.onExceeded],
      to: '/budgets',
    },
  ];
}

const budgetConsequences: Readonly<Record<Budget['onExceeded'], string>> = {
  notify: 'Nothing stops when it is used up.',
  stop_new_work: 'Nothing new can start when it is used up.',
  stop_everything: 'Running resources stop when it is used up.',
};

function webhookItems(webhook: Webhook): readonly AttentionItem[] {
  const { label, why } = webhookHealth(webhook);
  if (!isFaulty(webhook)) return [];
  const { id, url, description } = webhook;
  return [
    {
      key: `webhook-${id}`,
      tone: webhook.status === 'disabled' ? 'bad' : 'warn',
      title: `Webhook ${description === '' ? new URL(url).host : description} is ${label}`,
      detail: why ?? '',
      to: `/webhooks/${id}`,
    },
  ];
}

/** Recent failures of machines that have ended since, and maintenance that is not over. */
function eventItems(events: readonly Event[], nowMs: number): readonly AttentionItem[] {
  const over = new Set(
    events.flatMap((event) => (event.type === 'maintenance.ended' ? [event.data.maintenanceId] : [])),
  );
  return events.flatMap((event): readonly AttentionItem[] => {
    if (event.type === 'rental.failed' && nowMs - Date.parse(event.occurredAt) <= dayMs) {
      const { rentalId, name, reason } = event.data;
      const id = String(rentalId);
      const title = `${name ?? `Rental ${id}`} failed ${relativeText(event.occurredAt, nowMs)}`;
      return [{ key: `rental-${id}`, tone: 'warn', title, detail: reason, to: `/rentals/${id}` }];
    }
    const isMaintenance = event.type === 'maintenance.announced' || event.type === 'maintenance.started';
    if (!isMaintenance || over.has(event.data.maintenanceId) || Date.parse(event.data.endsAt) <= nowMs)
      return [];
    return [maintenanceItem(event.data, nowMs)];
  });
}

function maintenanceItem(
  data: Extract<Event, { type: 'maintenance.announced' }>['data'],
  nowMs: number,
): AttentionItem {
  const { maintenanceId, startsAt, endsAt, summary, rentalIds, externalIds } = data;
  const lasts = approximateDuration((Date.parse(endsAt) - Date.parse(startsAt)) * 0.001);
  const [rentalId] = rentalIds;
  const count = externalIds.length === 1 ? '1 machine' : `${String(externalIds.length)} machines`;
  const isNow = Date.parse(startsAt) <= nowMs;
  return {
    key: `maintenance-${maintenanceId}`,
    tone: isNow ? 'warn' : 'info',
    title: `Maintenance ${isNow ? 'in progress' : relativeText(startsAt, nowMs)}: ${summary}`,
    detail: `Affects ${count} for ${lasts}, which is not billed.`,
    to: rentalId === undefined ? '/instances' : `/rentals/${String(rentalId)}`,
  };
}
