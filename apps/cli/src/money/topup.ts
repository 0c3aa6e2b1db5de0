import type { Output } from '../sdk.ts';
import { usdText } from '@millrace/sdk/text';
import { timestampText } from '../text/timestamps.ts';

export type TopUp = Output<'getTopUp'>;

export const topUpColumns = [
  { name: 'id', value: (topUp: TopUp) => topUp.paymentId },
  { name: 'state', value: (topUp: TopUp) => topUp.state },
  { name: 'amount', align: 'right', value: (topUp: TopUp) => usdText(topUp.amountNanoUsd) },
  {
    name: 'refunded',
    align: 'right',
    value: ({ refundedNanoUsd }: TopUp) => (refundedNanoUsd === '0' ? '' : usdText(refundedNanoUsd)),
  },
  { name: 'created', value: (topUp: TopUp) => timestampText(topUp.createdAt) },
  { name: 'paid', value: ({ paidAt }: TopUp) => (paidAt === null ? '' : timestampText(paidAt)) },
  { name: 'pay at', value: (topUp: TopUp) => topUp.checkoutUrl },
] as const;

/** Whether the top-up is in progress; all other states are final. */
export const isInProgress = ({ state }: TopUp): boolean => ['created', 'open', 'processing'].includes(state);
