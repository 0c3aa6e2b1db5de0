import { useSearch } from '@tanstack/react-router';
import { useSession } from '../../api/session.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { Money, PerHour, HeadlineMoney } from '../../ui/money.tsx';
import { Card, KeyFigures, PageHeader } from '../../ui/page.tsx';
import { ChartSkeleton, FiguresSkeleton } from '../../ui/skeleton.tsx';
import { Note, QueryView } from '../../ui/states.tsx';
import { useNow } from '../../ui/time.tsx';
import { LimitsCard } from './limits-card.tsx';
import { RunningCard } from './running-card.tsx';
import { overdraftNano, runwayFigure, runwayText, balanceWarning, type Balance } from './runway.ts';
import { SpendChart } from './spend-chart.tsx';
import { spendSums, type SpendDay } from './spend.ts';
import { TopUpCard } from './top-up-card.tsx';
import { useBalance, useSpendDays } from './use-spending.ts';
import { LinkButton } from '../../ui/link.tsx';

export function MoneyPage() {
  const { place } = useSession();
  const { back } = useSearch({ from: '/shell/inside/money' });
  const balance = useBalance();
  const days = useSpendDays();
  // After a return from the payment page, or while money is missing.
  const isTopUpFirst =
    back !== undefined || (balance.data !== undefined && balanceWarning(balance.data, place.mode) !== null);
  return (
    <>
      <PageHeader
        title="Balance"
        about="Your balance, what you spend and how long it lasts."
        actions={<LinkButton to="/ledger">View ledger</LinkButton>}
      />
      <QueryView query={balance} what="balance" skeleton={<BalanceSkeleton />}>
        {(data) => (
          <>
            <WarningNote balance={data} />
            <BalanceFigures balance={data} days={days.data} isLoading={days.isPending} />
          </>
        )}
      </QueryView>
      {isTopUpFirst && <TopUpCard />}
      <Card title="Daily spending" about="Days are in UTC. The last bar is today so far.">
        <QueryView
          query={days}
          what="daily spending"
          skeleton={<ChartSkeleton what="daily spending" height={208} />}
        >
          {(data) => <SpendChart days={data} />}
        </QueryView>
      </Card>
      <RunningCard />
      {!isTopUpFirst && <TopUpCard />}
      <LimitsCard />
      <CommandHint
        command={place.mode === 'test' ? 'millrace balance' : 'millrace balance && millrace usage'}
      />
    </>
  );
}

function BalanceSkeleton() {
  return (
    <>
      <FiguresSkeleton what="balance" count={5} />
      <FiguresSkeleton what="spending" count={3} />
    </>
  );
}

function WarningNote({ balance }: Readonly<{ balance: Balance }>) {
  const { place } = useSession();
  const warning = balanceWarning(balance, place.mode);
  if (warning === null) return null;
  return (
    <div role="alert" className="mb-4">
      <Note tone={warning.tone}>
        <strong>{warning.title}</strong> {warning.advice}
      </Note>
    </div>
  );
}

interface BalanceFiguresProps {
  readonly balance: Balance;
  readonly days: readonly SpendDay[] | undefined;
  readonly isLoading: boolean;
}

function BalanceFigures({ balance, days, isLoading }: BalanceFiguresProps) {
  const now = useNow(30_000);
  const sums = days === undefined ? null : spendSums(days, balance.burnRateUsdPerHour, now);
  const overdraft = overdraftNano(balance);
  return (
    <>
      <KeyFigures
        items={[
          {
            label: 'Available',
            value: <HeadlineMoney nano={balance.availableNanoUsd} />,
            note:
              overdraft === 0n ? (
                'to spend'
              ) : (
                <>
                  to spend, including an overdraft of <Money nano={overdraft} />
                </>
              ),
          },
          {
            label: 'Runway',
            value: runwayFigure(balance.runwaySeconds),
            note: runwayText(balance.runwaySeconds, now),
          },
          {
            label: 'Cost per hour',
            value: <PerHour usd={balance.burnRateUsdPerHour} />,
            note: 'of what runs now, without reserved terms',
          },
          {
            label: 'Held',
            value: <HeadlineMoney nano={balance.heldNanoUsd} />,
            note: 'reserved for running resources',
          },
          {
            label: 'Balance',
            value: <HeadlineMoney nano={balance.balanceNanoUsd} />,
            note: 'including held money',
          },
        ]}
      />
      {isLoading && <FiguresSkeleton what="spending" count={3} />}
      {sums !== null && (
        <KeyFigures
          items={[
            { label: 'Spent today', value: <HeadlineMoney nano={sums.today} />, note: 'since midnight UTC' },
            {
              label: 'Spent this month',
              value: <HeadlineMoney nano={sums.month} />,
              note: 'since the 1st, UTC',
            },
            {
              label: 'Projected this month',
              value: <HeadlineMoney nano={sums.projected} />,
              note: `Estimate if everything keeps running for the remaining ${String(sums.hoursLeft)} h, without inference.`,
            },
          ]}
        />
      )}
    </>
  );
}
