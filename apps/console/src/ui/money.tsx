import { usdToNano, usdText } from '@millrace/sdk/text';

/** Money to the last nano-USD: what is shown is what the ledger says. The exact amount is also there for programs. */
export function Money({ nano, signed }: Readonly<{ nano: string | bigint; signed?: boolean }>) {
  const amount = BigInt(nano);
  return (
    <data value={amount.toString()} className="tabular-nums">
      {signed === true && amount > 0n ? '+' : ''}
      {usdText(amount)}
    </data>
  );
}

/** A price of an hour: in nano-USD where the interface tells them, else the number of dollars that it sends. */
export function PerHour(price: { readonly usd: number } | { readonly nano: string | bigint }) {
  const nano = 'nano' in price ? BigInt(price.nano) : usdToNano(price.usd);
  return (
    <span className="whitespace-nowrap tabular-nums">
      <data value={nano.toString()}>{usdText(nano)}</data>
      <span className="text-soft font-normal">/h</span>
    </span>
  );
}
