import { usdToNano, usdText } from '@millrace/sdk/text';

/** Exact amount as in the ledger; the value of the `<data>` element has it in nano-USD. */
export function Money({ nano, signed }: Readonly<{ nano: string | bigint; signed?: boolean }>) {
  const amount = BigInt(nano);
  return (
    <data value={amount.toString()} className="tabular-nums">
      {signed === true && amount > 0n ? '+' : ''}
      {usdText(amount)}
    </data>
  );
}

/** Hourly price, in nano-USD if the API sends them, else in dollars. */
export function PerHour(price: { readonly usd: number } | { readonly nano: string | bigint }) {
  const nano = 'nano' in price ? BigInt(price.nano) : usdToNano(price.usd);
  return (
    <span className="whitespace-nowrap tabular-nums">
      <data value={nano.toString()}>{usdText(nano)}</data>
      <span className="text-soft font-normal">/h</span>
    </span>
  );
}
