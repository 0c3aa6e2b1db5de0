import { defineLoop } from '@millrace/platform/loops';

/** Short waits: all items fail while Valkey is unreachable, and should be retried as soon as it responds. */
const times = { timeoutMs: 30_000, firstRetryMs: 1, maxRetryMs: 60_000 };

const ofLeases = { over: 'organisations', ...times } as const;

export const startClosingLeases = defineLoop({ name: 'call in leases of pots', ...ofLeases });
export const finishClosingLeases = defineLoop({ name: 'close leases of pots', ...ofLeases });
/** Ends a dead gateway in the leases of one organisation. */
export const endDeadHolders = defineLoop({ name: 'give up silent gateways', over: 'gateways', ...times });
/** Releases the reservations of one ended gateway on one lease, in batches. */
export const releaseEndedHolders = defineLoop({ name: 'settle ended gateways', over: 'gateways', ...times });
