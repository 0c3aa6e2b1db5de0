import type { NoticeData, NoticeType } from './notices.ts';
import { formatDuration, formatInstant, formatFirst, formatNanoUsd } from './format-values.ts';

/** What each notice says, in the order in which a busy person reads: what, the figures, what to do. Pure. */

export interface NoticeMessage {
  readonly subject: string;
  readonly lead: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly advice: string;
}

type MessageWriters = { readonly [Type in NoticeType]: (data: NoticeData<Type>) => NoticeMessage };

const LISTED_NAMES_MAX = 10;

const topUpAdvice = 'Add money, or end what you do not need.';

function moneyFacts(data: NoticeData<'balance.low'>): NoticeMessage['facts'] {
  return [
    ['Balance', formatNanoUsd(data.balanceNanoUsd)],
    ['Not set aside for anything', formatNanoUsd(data.availableNanoUsd)],
    ['Running costs', `${data.burnRateUsdPerHour} USD an hour`],
    ...(data.runwaySeconds === null ? [] : ([['Lasts for', formatDuration(data.runwaySeconds)]] as const)),
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
  ttl: 'Its time to live ends.',
  balance: 'The balance does not pay for it any more.',
  budget: 'A budget does not allow for it any more.',
};

const expiringAdvice: Readonly<Record<Expiring['cause'], string>> = {
  term: 'Extend it before then if you need it for longer, and copy what you want to keep.',
  ttl: 'Copy what you want to keep before then.',
  balance: 'Add money before then to keep it; otherwise copy what you want to keep.',
  budget: 'Raise the budget before then to keep it; otherwise copy what you want to keep.',
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
      ? `The term of ${what} ends on ${formatInstant(expiresAt)}. It goes on after that, at the price on demand.`
      : `${what} ends on ${formatInstant(expiresAt)}, and what is on it is deleted. ${expiryCauseTexts[cause]}`,
    facts: [...more, ['Ends', formatInstant(expiresAt)]],
    advice: converts
      ? 'Extend it to keep a reserved price, or end it if you do not need it any more.'
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
    lead: 'At the present rate the balance ends soon. When it does, everything that runs is stopped.',
    facts: moneyFacts(data),
    advice: topUpAdvice,
  }),
  'balance.floor': (data) => ({
    subject: 'Your balance has ended: what runs is being stopped',
    lead: 'The balance has ended. Nothing new is accepted, and what runs is being stopped now.',
    facts: moneyFacts(data),
    advice: 'Add money to go on. Disks and volumes are kept for a limited time only.',
  }),
  'budget.threshold': (data) => ({
    subject: `${data.thresholdPercent} % of the budget ${data.name} are spent`,
    lead: `The budget ${data.name} has passed ${data.thresholdPercent} % of its limit.`,
    facts: budgetFacts(data),
    advice: 'When it is used up, what it pays for is stopped. Raise it if that is not what you want.',
  }),
  'budget.exceeded': (data) => ({
    subject: `The budget ${data.name} is used up`,
    lead: `The budget ${data.name} is used up. What it pays for is refused or stopped.`,
    facts: budgetFacts(data),
    advice: 'Raise it, or wait for its next period.',
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
    subject: `Maintenance on ${formatInstant(data.startsAt)}: your machines will be away`,
    lead: 'Machines that you use will be away for a stated time. That time is not billed.',
    facts: maintenanceFacts(data),
    advice: 'Save your work before it begins. Machines come back by themselves when it is over.',
  }),
  'maintenance.ended': (data) => ({
    subject: `Maintenance on ${formatInstant(data.startsAt)} was called off`,
    lead: 'The maintenance that was announced was called off. Your machines stay, or are coming back.',
    facts: maintenanceFacts(data),
    advice: 'There is nothing to do.',
  }),
  'invoice.finalized': (data) => ({
    subject: `Invoice ${data.number} over ${formatNanoUsd(data.totalNanoUsd)}`,
    lead: `Invoice ${data.number} is final. ${paidFromText(data.totalNanoUsd)}`,
    facts: [
      ['Invoice', data.number],
      ['Total', formatNanoUsd(data.totalNanoUsd)],
      ['From', formatInstant(data.periodStart)],
      ['To', formatInstant(data.periodEnd)],
    ],
    advice: 'There is nothing to pay. Keep it for your books.',
  }),
  'key.created': (data) => ({
    subject: `An API key was created: ${data.name}`,
    lead: `The API key ${data.name} was created${data.rotatedFrom === null ? '' : ', in place of another one'}.`,
    facts: [
      ['Key', `${data.name} (${data.publicId}, ${data.mode})`],
      ['May', formatFirst(data.scopes, LISTED_NAMES_MAX) || 'nothing'],
      ['Until', data.expiresAt === null ? 'it is revoked' : formatInstant(data.expiresAt)],
      ['Created by', data.createdBy],
    ],
    advice: 'If nobody of yours did this, revoke it at once.',
  }),
  'webhook.disabled': (data) => ({
    subject: 'A webhook was disabled',
    lead: `Events are not sent to ${data.url} any more: it has failed for too long.`,
    facts: [
      ['Webhook', data.webhookId],
      ['Failing since', formatInstant(data.failingSince)],
      ['Last failure', data.reason],
    ],
    advice: 'Repair the receiver, enable the webhook, and have what it missed sent again.',
  }),
};

/** A credit exceeds the charges where the total is below zero: then nothing was paid. */
function paidFromText(totalNanoUsd: string): string {
  if (totalNanoUsd.startsWith('-')) return 'Its total was credited to your balance.';
  return totalNanoUsd === '0' ? 'Its total is zero.' : 'It was paid from your balance.';
}
