import type { NoticeData, NoticeType } from './notices.ts';
import { formatDuration, formatInstant, formatFirst, formatNanoUsd } from './format-values.ts';

/** The text of each notice, in reading order: subject, facts, advice. Pure. */

export interface NoticeMessage {
  readonly subject: string;
  readonly lead: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly advice: string;
}

type MessageWriters = { readonly [Type in NoticeType]: (data: NoticeData<Type>) => NoticeMessage };

const LISTED_NAMES_MAX = 10;

const topUpAdvice = 'Add money, or terminate resources that you do not need.';

function moneyFacts(data: NoticeData<'balance.low'>): NoticeMessage['facts'] {
  return [
    ['Balance', formatNanoUsd(data.balanceNanoUsd)],
    ['Available', formatNanoUsd(data.availableNanoUsd)],
    ['Running costs', `${data.burnRateUsdPerHour} USD per hour`],
    ...(data.runwaySeconds === null ? [] : ([['Runway', formatDuration(data.runwaySeconds)]] as const)),
  ];
}

function budgetFacts(data: NoticeData<'budget.exceeded'>): NoticeMessage['facts'] {
  const end = data.periodEnd === null ? [] : ([['Until', formatInstant(data.periodEnd)]] as const);
  return [
    ['Budget', data.name],
    ['Limit', formatNanoUsd(data.limitNanoUsd)],
    ['Spent', formatNanoUsd(data.spentNanoUsd)],
    ['Since', formatInstant(data.periodStart)],
    ...end,
  ];
}

type Expiring = Pick<NoticeData<'rental.expiring'>, 'cause' | 'expiresAt' | 'next'>;

const expiryCauseTexts: Readonly<Record<Expiring['cause'], string>> = {
  term: 'Its term ends.',
  ttl: 'Its TTL ends.',
  balance: 'Your balance no longer covers it.',
  budget: 'A budget no longer covers it.',
};

const expiringAdvice: Readonly<Record<Expiring['cause'], string>> = {
  term: 'Extend it before then if you need it longer, or copy the data that you want to keep.',
  ttl: 'Copy the data that you want to keep before then.',
  balance: 'Add money before then to keep it, or copy the data that you want to keep.',
  budget: 'Raise the budget before then to keep it, or copy the data that you want to keep.',
};

function expiringMessage(
  what: string,
  { cause, expiresAt, next }: Expiring,
  more: NoticeMessage['facts'],
): NoticeMessage {
  const converts = next === 'convert';
  return {
    subject: converts
      ? `The term of ${what} ends on ${formatInstant(expiresAt)}`
      : `${what} ends on ${formatInstant(expiresAt)}`,
    lead: converts
      ? `The term of ${what} ends on ${formatInstant(expiresAt)}. After that it continues at the on-demand price.`
      : `${what} ends on ${formatInstant(expiresAt)}, and its data is deleted. ${expiryCauseTexts[cause]}`,
    facts: [...more, ['Ends', formatInstant(expiresAt)]],
    advice: converts
      ? 'Extend it to keep a reserved price, or terminate it if you no longer need it.'
      : expiringAdvice[cause],
  };
}

function maintenanceFacts(data: NoticeData<'maintenance.announced'>): NoticeMessage['facts'] {
  return [
    ['Work', data.summary],
    ['From', formatInstant(data.startsAt)],
    ['To', formatInstant(data.endsAt)],
    ['Rentals', formatFirst(data.rentalIds.map(String), LISTED_NAMES_MAX) || 'none'],
    ['Rentals and instances', formatFirst(data.externalIds, LISTED_NAMES_MAX) || 'none'],
  ];
}

export const messageWriters: MessageWriters = {
  'balance.low': (data) => ({
    subject:
      data.runwaySeconds === null
        ? 'Your balance ends soon'
        : `Your balance ends in ${formatDuration(data.runwaySeconds)}`,
    lead: 'At the current rate your balance ends soon. All running resources are stopped then.',
    facts: moneyFacts(data),
    advice: topUpAdvice,
  }),
  'balance.floor': (data) => ({
    subject: 'Your balance has ended: running resources are being stopped',
    lead: 'Your balance has ended. You cannot start new resources, and running resources are being stopped now.',
    facts: moneyFacts(data),
    advice: 'Add money to continue. Disks and volumes are kept for a limited time only.',
  }),
  'budget.threshold': (data) => ({
    subject: `Budget ${data.name}: ${data.thresholdPercent} % spent`,
    lead: `The budget ${data.name} has reached ${data.thresholdPercent} % of its limit.`,
    facts: budgetFacts(data),
    advice:
      'When the budget is used up, the resources that it covers are stopped. Raise it to keep them running.',
  }),
  'budget.exceeded': (data) => ({
    subject: `Budget ${data.name} is used up`,
    lead: `The budget ${data.name} is used up. Requests that it covers are rejected, and its resources are stopped.`,
    facts: budgetFacts(data),
    advice: 'Raise the budget, or wait for its next period.',
  }),
  'rental.expiring': (data) => {
    const named = data.name === null ? '' : ` (${data.name})`;
    return expiringMessage(`Rental ${data.rentalId}${named}`, data, [
      ['Rental', `${data.rentalId}${named}`],
      ['GPUs', `${data.gpuCount} × ${data.gpuType}`],
      ['Region', data.region ?? 'private cloud'],
    ]);
  },
  'instance.expiring': (data) =>
    expiringMessage(`Instance ${data.instanceId}`, data, [
      ['Instance', data.instanceId],
      ['Machine', `${data.nodeName} of ${data.clusterName}`],
      ['GPUs', String(data.gpuCount)],
    ]),
  'maintenance.announced': (data) => ({
    subject: `Maintenance on ${formatInstant(data.startsAt)}: your machines will be unavailable`,
    lead: 'Machines that you use will be unavailable for the time below. That time is not billed.',
    facts: maintenanceFacts(data),
    advice: 'Save your work before it starts. The machines start again automatically afterwards.',
  }),
  'maintenance.ended': (data) => ({
    subject: `Maintenance on ${formatInstant(data.startsAt)} was cancelled`,
    lead: 'The announced maintenance was cancelled. Your machines stay available, or are starting again.',
    facts: maintenanceFacts(data),
    advice: 'You do not need to do anything.',
  }),
  'invoice.finalized': (data) => ({
    subject: `Invoice ${data.number}: ${formatNanoUsd(data.totalNanoUsd)}`,
    lead: `Invoice ${data.number} is final. ${paidFromText(data.totalNanoUsd)}`,
    facts: [
      ['Invoice', data.number],
      ['Total', formatNanoUsd(data.totalNanoUsd)],
      ['From', formatInstant(data.periodStart)],
      ['To', formatInstant(data.periodEnd)],
    ],
    advice: 'You do not need to pay anything. Keep it for your records.',
  }),
  'key.created': (data) => ({
    subject: `An API key was created: ${data.name}`,
    lead: `The API key ${data.name} was created${data.rotatedFrom === null ? '' : ' and replaces another key'}.`,
    facts: [
      ['Key', `${data.name} (${data.publicId}, ${data.mode})`],
      ['Scopes', formatFirst(data.scopes, LISTED_NAMES_MAX) || 'none'],
      ['Valid until', data.expiresAt === null ? 'revoked' : formatInstant(data.expiresAt)],
      ['Created by', data.createdBy],
    ],
    advice: 'If you do not recognise this key, revoke it at once.',
  }),
  'webhook.disabled': (data) => ({
    subject: 'A webhook was disabled',
    lead: `We stopped sending events to ${data.url}, because it has failed for too long.`,
    facts: [
      ['Webhook', data.webhookId],
      ['Failing since', formatInstant(data.failingSince)],
      ['Last failure', data.reason],
    ],
    advice: 'Repair the receiver, enable the webhook, and redeliver the missed events.',
  }),
};

/** A negative total means that credits exceed charges, so nothing was paid. */
function paidFromText(totalNanoUsd: string): string {
  if (totalNanoUsd.startsWith('-')) return 'Its total was credited to your balance.';
  return totalNanoUsd === '0' ? 'Its total is zero.' : 'It was paid from your balance.';
}
