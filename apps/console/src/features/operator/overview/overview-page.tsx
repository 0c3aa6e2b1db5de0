import { Network, Scale, Server } from 'lucide-react';
import { useApiQuery } from '../../../api/queries.ts';
import { Checklist } from '../../../ui/checklist.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { Badge } from '../../../ui/badge.tsx';
import { LinkButton, TextLink } from '../../../ui/link.tsx';
import { HeadlineMoney } from '../../../ui/money.tsx';
import { Card, DescriptionList, KeyFigures, PageHeader } from '../../../ui/page.tsx';
import { PageSkeleton } from '../../../ui/skeleton.tsx';
import { EmptyState, QueryView } from '../../../ui/states.tsx';
import { RelativeTime, useNow } from '../../../ui/time.tsx';
import { AttentionCard } from '../../../ui/attention.tsx';
import { operatorPage } from '../common/operator-page.tsx';
import { GpuUseCard } from './gpu-use-card.tsx';
import { operatorAttention, type AdminOverview } from './operator-attention.ts';
import { readLedgerCondition, type AuditReport } from '../auditor/ledger-condition.ts';
import { RevenueCard } from './revenue-card.tsx';
import { setupSteps, type SetupFacts } from './setup.ts';
import { useSetup } from './use-setup.ts';

export const OperatorOverviewPage = operatorPage('Operator overview', OperatorOverview);

const NODES_SHOWN = 10;

function useFaults() {
  return useApiQuery(
    ['admin', 'faults'],
    async (client, signal) => {
      const { admin } = client;
      const [offline, quarantined, silent, audit] = await Promise.all([
        admin.nodes.list({ status: 'node_offline', limit: NODES_SHOWN }, { signal }),
        admin.nodes.list({ status: 'node_quarantined', limit: NODES_SHOWN }, { signal }),
        admin.clusters.list({ status: 'silent', limit: NODES_SHOWN }, { signal }),
        readLedgerCondition(client, signal),
      ]);
      return {
        nodes: [...offline.items, ...quarantined.items],
        clusters: silent.items,
        audit,
      };
    },
    { refetchMs: 15_000 },
  );
}

function OperatorOverview() {
  const overview = useApiQuery(
    ['admin', 'overview'],
    ({ admin }, signal) => admin.overview.get({}, { signal }),
    { refetchMs: 15_000 },
  );
  const faults = useFaults();
  const setup = useSetup();
  return (
    <>
      <PageHeader
        title="Operator overview"
        about="Revenue, utilisation and faults of this installation, in live mode."
        actions={
          <LinkButton to="/operator/health" size="small">
            Health
          </LinkButton>
        }
      />
      <QueryView
        query={setup.isLoading ? { ...overview, data: undefined } : overview}
        what="overview"
        skeleton={<PageSkeleton what="overview" />}
      >
        {(data) => (
          <>
            {setup.data !== undefined && <SetupChecklist facts={setup.data} />}
            <Figures overview={data} />
            <div className="grid items-start gap-x-4 lg:grid-cols-[minmax(0,5fr)_minmax(0,3fr)]">
              <div className="min-w-0">
                <QueryView query={faults} what="faults">
                  {(found) => <Attention pending={data.pending} found={found} />}
                </QueryView>
                <GpuUseCard gpus={data.gpus} />
                <RevenueCard revenue={data.revenue} />
              </div>
              <div className="min-w-0">
                <RentalsCard rentals={data.rentals} />
                <NodesCard nodes={data.nodes} />
                {faults.data !== undefined && <AuditCard audit={faults.data.audit} />}
              </div>
            </div>
          </>
        )}
      </QueryView>
      <CommandHint command="millrace admin overview" />
    </>
  );
}

/** Shown until every step is done. */
function SetupChecklist({ facts }: Readonly<{ facts: SetupFacts }>) {
  const steps = setupSteps(facts);
  return steps.every(({ isDone }) => isDone) ? null : (
    <Checklist title="Set up this installation" steps={steps} />
  );
}

type Found = NonNullable<ReturnType<typeof useFaults>['data']>;

function Attention({ pending, found }: Readonly<{ pending: AdminOverview['pending']; found: Found }>) {
  const now = useNow(30_000);
  return (
    <AttentionCard
      items={operatorAttention({ pending, ...found }, now)}
      what="No faults, and nothing waits for a decision."
    />
  );
}

function Figures({ overview }: Readonly<{ overview: AdminOverview }>) {
  const { revenue, gpus, rentals } = overview;
  const sum = (field: 'rented' | 'total'): number => gpus.reduce((count, gpu) => count + gpu[field], 0);
  return (
    <KeyFigures
      items={[
        {
          label: 'Revenue this month',
          lead: true,
          value: <HeadlineMoney nano={revenue.month.totalNanoUsd} />,
          note: 'since the 1st, UTC',
        },
        {
          label: 'Revenue today',
          value: <HeadlineMoney nano={revenue.today.totalNanoUsd} />,
          note: 'since midnight UTC',
        },
        {
          label: 'Running rentals',
          value: rentals.find(({ status }) => status === 'Running')?.count ?? 0,
          note: 'with marketplace instances',
        },
        {
          label: 'Rented GPUs',
          value: `${String(sum('rented'))} of ${String(sum('total'))}`,
          note: 'in live mode',
        },
      ]}
    />
  );
}

function RentalsCard({ rentals }: Readonly<{ rentals: AdminOverview['rentals'] }>) {
  return (
    <Card title="Rentals" actions={<TextLink to="/operator/rentals">All rentals</TextLink>}>
      {rentals.length === 0 ? (
        <EmptyState icon={Server} title="No active rentals" />
      ) : (
        <DescriptionList items={rentals.map(({ status, count }) => [status, count])} />
      )}
    </Card>
  );
}

function NodesCard({ nodes }: Readonly<{ nodes: AdminOverview['nodes'] }>) {
  return (
    <Card title="Nodes" actions={<TextLink to="/operator/fleet">Fleet</TextLink>}>
      {nodes.length === 0 ? (
        <EmptyState icon={Network} title="No nodes yet" />
      ) : (
        <DescriptionList
          items={nodes.map(({ status, count }) => [
            status.replace('node_', '').replace(/^./, (a) => a.toUpperCase()),
            count,
          ])}
        />
      )}
    </Card>
  );
}

function AuditCard({ audit }: Readonly<{ audit: AuditReport | null }>) {
  return (
    <Card title="Ledger audit" actions={<TextLink to="/operator/auditor">All reports</TextLink>}>
      {audit === null ? (
        <EmptyState icon={Scale} title="No audit yet">
          It runs on its own every hour.
        </EmptyState>
      ) : (
        <DescriptionList
          items={[
            [audit.isClean ? 'Last run' : 'Found', <RelativeTime key="at" at={audit.snapshotAt} />],
            [
              'Result',
              <TextLink key="result" to="/operator/auditor/$reportId" params={{ reportId: audit.id }}>
                {audit.isClean ? (
                  <Badge tone="good">no errors</Badge>
                ) : (
                  <Badge tone="bad">
                    {audit.errors === 1 ? '1 error' : `${String(audit.errors)} errors`}
                  </Badge>
                )}
              </TextLink>,
            ],
            ['Notices', audit.notices],
          ]}
        />
      )}
    </Card>
  );
}
