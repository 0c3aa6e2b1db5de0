import { usdToNano } from '@millrace/sdk/text';
import { HeadlineMoney } from '../../ui/money.tsx';
import { KeyFigures } from '../../ui/page.tsx';
import { useNow } from '../../ui/time.tsx';
import { runwayText, type Balance } from '../money/runway.ts';
import { spendSums, type SpendDay } from '../money/spend.ts';

interface CostFiguresProps {
  readonly balance: Balance;
  readonly days: readonly SpendDay[];
}

export function CostFigures({ balance, days }: CostFiguresProps) {
  const now = useNow(30_000);
  const sums = spendSums(days, balance.burnRateUsdPerHour, now);
  return (
    <KeyFigures
      items={[
        {
          label: 'Cost per hour',
          lead: true,
          value: <HeadlineMoney nano={usdToNano(balance.burnRateUsdPerHour)} per="h" />,
          note: 'of what runs now, without reserved terms',
        },
        { label: 'Cost this month', value: <HeadlineMoney nano={sums.month} />, note: 'since the 1st, UTC' },
        {
          label: 'Projected this month',
          value: <HeadlineMoney nano={sums.projected} />,
          note: 'if everything keeps running, without inference',
        },
        {
          label: 'Available balance',
          value: <HeadlineMoney nano={balance.availableNanoUsd} />,
          note: runwayText(balance.runwaySeconds, now),
        },
      ]}
    />
  );
}
