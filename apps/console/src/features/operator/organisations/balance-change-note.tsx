import { Money } from '../../../ui/money.tsx';
import { Note } from '../../../ui/states.tsx';
import type { BalanceChange } from './balance-changes.ts';

export function BalanceChangeNote({ change, whose }: Readonly<{ change: BalanceChange; whose: string }>) {
  const rows = [
    ['Balance', change.balance],
    ['Available', change.available],
  ] as const;
  return (
    <Note tone={change.issue === false ? 'info' : 'warn'}>
      <table className="w-full text-left max-sm:text-xs">
        <caption className="text-soft text-left text-xs">{whose}, unless charged meanwhile</caption>
        <thead className="text-soft text-xs">
          <tr>
            <th scope="col">
              <span className="sr-only">Amount</span>
            </th>
            <th scope="col" className="font-normal">
              Before
            </th>
            <th scope="col" className="font-normal">
              After
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, { before, after }]) => (
            <tr key={name}>
              <th scope="row" className="font-normal">
                {name}
              </th>
              <td className="wrap-anywhere">
                <Money nano={before} />
              </td>
              <td className="font-medium wrap-anywhere">
                <Money nano={after} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {change.issue !== false && <p className="mt-1">{change.issue}</p>}
    </Note>
  );
}
