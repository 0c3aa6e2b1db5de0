import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { AttentionCard } from '../../ui/attention.tsx';
import { Button } from '../../ui/button.tsx';
import { Checklist } from '../../ui/checklist.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { LinkButton } from '../../ui/link.tsx';
import { PageHeader } from '../../ui/page.tsx';
import { PageSkeleton } from '../../ui/skeleton.tsx';
import { QueryView } from '../../ui/states.tsx';
import { useNow } from '../../ui/time.tsx';
import type { Balance } from '../money/runway.ts';
import type { SpendDay } from '../money/spend.ts';
import { budgetsRead, useBalance, useSpendDays } from '../money/use-spending.ts';
import { ActivityCard } from './activity-card.tsx';
import { attentionItems } from './attention.ts';
import { CostFigures } from './cost-figures.tsx';
import { eventsRead, resourcesRead, webhooksRead } from './reads.ts';
import { ResourcesCard } from './resources-card.tsx';
import { useOnboarding } from './use-onboarding.ts';

/** Running resources, their cost, items that need attention, and recent events. */
export function OverviewPage() {
  const { may, place, me, go } = useSession();
  const maySeeMoney = may('billing:read');
  const balance = useBalance(maySeeMoney);
  const days = useSpendDays(maySeeMoney);
  const lists = useAttentionLists();
  const resources = useResources();
  const events = useRecentEvents();
  const { isLoading, steps, onDismiss } = useOnboarding();
  const header = (
    <PageHeader
      title="Overview"
      about={`Machines, costs and activity of ${me.organisation.name}.`}
      actions={
        <LinkButton to="/catalog" kind="primary">
          Rent a machine
        </LinkButton>
      }
    />
  );
  // Everything above the cards appears together, so that the page does not move.
  if (isLoading || balance.isLoading || days.isLoading) {
    return (
      <>
        {header}
        <PageSkeleton what="overview" />
      </>
    );
  }
  return (
    <>
      {header}
      {steps !== null && (
        <Checklist
          title="Get started"
          steps={steps}
          onTrial={() => go({ mode: 'test' })}
          actions={
            <Button kind="quiet" size="small" onClick={onDismiss}>
              Dismiss
            </Button>
          }
        />
      )}
      {maySeeMoney && (
        <QueryView query={bothLoaded(balance, days)} what="cost">
          {([loaded, spent]) => <CostFigures balance={loaded} days={spent} />}
        </QueryView>
      )}
      <div className="grid items-start gap-x-4 lg:grid-cols-[minmax(0,5fr)_minmax(0,3fr)]">
        <div className="min-w-0">
          <Attention balance={balance} resources={resources} events={events} {...lists} />
          <ResourcesCard resources={resources} />
        </div>
        {may('events:read') && <ActivityCard events={events} mayReadLog={may('audit:read')} />}
      </div>
      <CommandHint
        command={place.mode === 'test' ? 'millrace rental list' : 'millrace rental list && millrace balance'}
      />
    </>
  );
}

type Loadable<Data> = Parameters<typeof QueryView<Data>>[0]['query'];

/** Two queries as one, so that their figures appear together. */
function bothLoaded(
  balance: Loadable<Balance>,
  days: Loadable<readonly SpendDay[]>,
): Loadable<readonly [Balance, readonly SpendDay[]]> {
  return {
    data: balance.data === undefined || days.data === undefined ? undefined : [balance.data, days.data],
    error: balance.error ?? days.error,
    refetch: () => Promise.all([balance.refetch(), days.refetch()]),
  };
}

function useResources() {
  const { key, read } = resourcesRead(useSession().may);
  return useApiQuery(key, read, { refetchMs: 10_000 });
}

function useRecentEvents() {
  const { may, place } = useSession();
  const { key, read } = eventsRead(place.mode);
  return useApiQuery(key, read, { refetchMs: 15_000, enabled: may('events:read') });
}

/** Read with the first requests of the page, although their items appear later. */
function useAttentionLists() {
  const { may } = useSession();
  const budgets = useApiQuery(budgetsRead.key, budgetsRead.read, {
    refetchMs: 30_000,
    enabled: may('billing:read'),
  });
  const webhooks = useApiQuery(webhooksRead.key, webhooksRead.read, {
    refetchMs: 30_000,
    enabled: may('webhooks:read'),
  });
  return { budgets, webhooks };
}

interface AttentionProps extends ReturnType<typeof useAttentionLists> {
  readonly balance: ReturnType<typeof useBalance>;
  readonly resources: ReturnType<typeof useResources>;
  readonly events: ReturnType<typeof useRecentEvents>;
}

function Attention({ balance, resources, events, budgets, webhooks }: AttentionProps) {
  const { place } = useSession();
  const now = useNow(30_000);
  // "Nothing needs your attention" must be true, so it waits for every list. A disabled query is not loading.
  const isLoading = [balance, resources, events, budgets, webhooks].some((query) => query.isLoading);
  const items = attentionItems(
    {
      mode: place.mode,
      ...resources.data,
      balance: balance.data,
      budgets: budgets.data,
      webhooks: webhooks.data,
      events: events.data,
    },
    now,
  );
  return <AttentionCard items={items} isLoading={isLoading} />;
}
