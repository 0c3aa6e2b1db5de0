import { usdToNano, usdText } from '@millrace/sdk/text';
import { createContext, use } from 'react';
import { headlineUsd } from './logic/headline-usd.ts';
import { WithTooltip } from './with-tooltip.tsx';

const NANO_PER_CENT = 10_000_000n;

/** Set by `KeyFigures`: amounts inside are headlines. */
export const HeadlineContext = createContext(false);

/** Exact amount as in the ledger; the value of the `<data>` element has it in nano-USD. Key figures round it to cents. */
export function Money({ nano, signed = false }: Readonly<{ nano: string | bigint; signed?: boolean }>) {
  const isHeadline = use(HeadlineContext);
  if (isHeadline) return <HeadlineMoney nano={nano} signed={signed} />;
  const amount = BigInt(nano);
  return (
    <data value={amount.toString()} className="whitespace-nowrap tabular-nums">
      {signed && amount > 0n ? '+' : ''}
      {usdText(amount)}
    </data>
  );
}

interface HeadlineMoneyProps {
  readonly nano: string | bigint;
  readonly signed?: boolean;
  /** Unit after the amount, such as `h` or `month`. */
  readonly per?: string;
}

/** Amount for headlines and key figures, rounded to cents. Hover and keyboard focus show the exact amount. */
export function HeadlineMoney({ nano, signed = false, per }: HeadlineMoneyProps) {
  const { text, exact } = headlineUsd(nano, { signed });
  const amount = (
    <span className="whitespace-nowrap tabular-nums">
      <data value={BigInt(nano).toString()}>{text}</data>
      {per !== undefined && <span className="text-soft font-normal">/{per}</span>}
    </span>
  );
  if (exact === null) return amount;
  return (
    <WithTooltip why={`Exactly ${exact}`} focusable>
      {amount}
    </WithTooltip>
  );
}

/** Hourly price, in nano-USD if the API sends them, else in dollars. Key figures round it to cents, unless it is less than one. */
export function PerHour(price: { readonly usd: number } | { readonly nano: string | bigint }) {
  const nano = 'nano' in price ? BigInt(price.nano) : usdToNano(price.usd);
  const isHeadline = use(HeadlineContext);
  if (isHeadline && nano >= NANO_PER_CENT) return <HeadlineMoney nano={nano} per="h" />;
  return (
    <span className="whitespace-nowrap tabular-nums">
      <data value={nano.toString()}>{usdText(nano)}</data>
      <span className="text-soft font-normal">/h</span>
    </span>
  );
}

/** In test mode, the cost of the same in live mode; nothing if the API sends none. */
export function LiveCost({ nano, perHour }: Readonly<{ nano: string | bigint | undefined; perHour?: true }>) {
  if (nano === undefined) return null;
  return (
    <span className="text-soft block text-xs font-normal whitespace-nowrap">
      <data value={BigInt(nano).toString()} className="tabular-nums">
        {usdText(nano)}
      </data>
      {perHour === true && '/h'} live
    </span>
  );
}
