import type { Output } from '@millrace/sdk';
import { elapsedText } from '@millrace/sdk/text';
import { AlertTriangle, CircleCheck, Info, OctagonAlert } from 'lucide-react';
import { useApiQuery } from '../../../api/queries.ts';
import { Badge, type Tone } from '../../../ui/badge.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { Card, DescriptionList, PageHeader } from '../../../ui/page.tsx';
import { PageSkeleton } from '../../../ui/skeleton.tsx';
import { Note, QueryView } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { RelativeTime, useNow } from '../../../ui/time.tsx';
import { operatorPage } from '../common/operator-page.tsx';

export const HealthPage = operatorPage('Health', Health);

type AdminHealth = Output<'adminGetHealth'>;
type Process = AdminHealth['processes'][number];

const POLL_MS = 10_000;
/** After two missed polls the data is no longer called current. */
const OLD_MS = 25_000;

function Health() {
  const health = useApiQuery(['admin', 'health'], ({ admin }, signal) => admin.health.get({}, { signal }), {
    refetchMs: POLL_MS,
  });
  return (
    <>
      <PageHeader
        title="Health"
        about="Faults of this installation, their effect on tenants, and the runbook of each. The api asks every process directly."
      />
      <QueryView query={health} what="health" skeleton={<PageSkeleton what="health" />}>
        {(data) => (
          <>
            <Age at={data.readAt} />
            <Problems health={data} />
            <div className="grid items-start gap-x-4 lg:grid-cols-[minmax(0,5fr)_minmax(0,3fr)]">
              <div className="min-w-0">
                <Processes processes={data.processes} />
              </div>
              <div className="min-w-0">
                <Engines engines={data.engines} />
                <Figures health={data} />
              </div>
            </div>
          </>
        )}
      </QueryView>
      <CommandHint command="millrace admin health" />
    </>
  );
}

function Age({ at }: Readonly<{ at: string }>) {
  const isOld = useNow(1_000) - Date.parse(at) > OLD_MS;
  return (
    <div className="mb-4">
      <Note tone={isOld ? 'bad' : 'info'}>
        {isOld ? 'This data is old: it was read ' : 'Read '}
        <RelativeTime at={at} />
        {isOld ? ', and the api has not answered since.' : '. The page reads it again every 10 seconds.'}{' '}
        Tenants see the{' '}
        <a className="underline" href="/status">
          public status page
        </a>
        .
      </Note>
    </div>
  );
}

const marks = {
  critical: [OctagonAlert, 'text-bad', 'Critical'],
  warning: [AlertTriangle, 'text-warn', 'Warning'],
} as const;

function Problems({ health }: Readonly<{ health: AdminHealth }>) {
  const { problems, unread } = health;
  return (
    <Card
      title="Problems"
      about={problems.length === 0 ? undefined : `${String(problems.length)} now, the most serious first`}
      flush={problems.length > 0}
    >
      {unread.length > 0 && (
        <div className="px-4 pb-3">
          <Note tone="warn">Could not be read in time, and may have problems too: {unread.join(', ')}.</Note>
        </div>
      )}
      {problems.length === 0 ? (
        <p className="text-soft flex items-center gap-2">
          <CircleCheck aria-hidden className="text-good size-4 shrink-0" />
          No problem is known.
        </p>
      ) : (
        <ul aria-label="Problems" className="divide-line divide-y">
          {problems.map(({ id, severity, title, effect, runbook }) => {
            const [Mark, color, label] = marks[severity];
            return (
              <li key={id} className="flex gap-3 px-4 py-3">
                <Mark aria-label={label} role="img" className={`mt-0.5 size-4 shrink-0 ${color}`} />
                <div className="min-w-0 flex-1 sm:flex sm:items-start sm:justify-between sm:gap-4">
                  <div className="min-w-0">
                    <p className="font-medium break-words">{title}</p>
                    <p className="text-soft text-xs break-words">{effect}</p>
                  </div>
                  <a
                    href={runbook}
                    target="_blank"
                    rel="noreferrer"
                    aria-label={`What to do: ${title}`}
                    className="mt-1 inline-flex shrink-0 items-center gap-1 text-xs underline sm:mt-0.5"
                  >
                    <Info aria-hidden className="size-3.5" />
                    What to do
                  </a>
                </div>
              </li>
            );
          })}
        </ul>
      )}
    </Card>
  );
}

const statuses: Readonly<Record<Process['status'], readonly [Tone, string]>> = {
  ready: ['good', 'ready'],
  degraded: ['warn', 'degraded'],
  'not-ready': ['bad', 'not ready'],
  unreachable: ['bad', 'unreachable'],
};

const columns: readonly Column<Process>[] = [
  { head: 'Process', main: true, cell: ({ name }) => name },
  {
    head: 'Status',
    cell: ({ status }) => <Badge tone={statuses[status][0]}>{statuses[status][1]}</Badge>,
  },
  { head: 'Version', cell: ({ version }) => version ?? 'unknown' },
  {
    head: 'Failed checks',
    cell: ({ failing, status }) =>
      failing.length > 0
        ? failing.map(({ check }) => check).join(', ')
        : status === 'unreachable'
          ? 'unknown'
          : 'none',
  },
];

function Processes({ processes }: Readonly<{ processes: AdminHealth['processes'] }>) {
  return (
    <Card title="Processes" about="This api, and the processes that MILLRACE_HEALTH_PROCESSES names." flush>
      <Table caption="Processes" columns={columns} rows={processes} rowKey={({ name }) => name} isWide />
    </Card>
  );
}

function Engines({ engines }: Readonly<{ engines: AdminHealth['engines'] }>) {
  return (
    <Card title="Engines" about="As the processes see them.">
      <DescriptionList
        items={engines.map(({ name, ok, seenBy }) => [
          name,
          seenBy === 0 ? (
            <Badge key={name} tone="plain">
              unknown
            </Badge>
          ) : (
            <Badge key={name} tone={ok ? 'good' : 'bad'}>
              {ok ? 'reachable' : 'unreachable'}
            </Badge>
          ),
        ])}
      />
    </Card>
  );
}

const MS_PER_SECOND = 1_000;
const ago = (seconds: number): string => elapsedText(seconds * MS_PER_SECOND);
const ofAll = (bad: number, all: number, word: string): string =>
  bad === 0 ? `${String(all)}, all fine` : `${String(bad)} of ${String(all)} ${word}`;

function outboxText({ outboxWaiting, outboxOldestSeconds }: NonNullable<AdminHealth['queues']>): string {
  if (outboxWaiting === 0) return 'empty';
  return `${String(outboxWaiting)} waiting, oldest ${ago(outboxOldestSeconds)}`;
}

function Figures({ health }: Readonly<{ health: AdminHealth }>) {
  const { queues, money, fleet, loops, restore } = health;
  return (
    <Card title="Figures">
      <DescriptionList
        items={[
          queues && ['Outbox', outboxText(queues)],
          queues && ['Parked outbox rows', queues.outboxParked],
          queues && [
            'Oldest due webhook',
            queues.webhooksOldestSeconds === 0 ? 'none' : ago(queues.webhooksOldestSeconds),
          ],
          money && [
            'Last clean audit',
            money.lastCleanSeconds === null ? 'none yet' : `${ago(money.lastCleanSeconds)} ago`,
          ],
          fleet && ['Clusters', ofAll(fleet.clustersSilent, fleet.clusters, 'silent')],
          fleet && ['Nodes', ofAll(fleet.nodesFaulty, fleet.nodes, 'faulty')],
          fleet && ['Storage nodes', ofAll(fleet.storageNodesSilent, fleet.storageNodes, 'silent')],
          fleet && ['Inference engines down', fleet.enginesDown],
          loops && ['Loops with failing items', loops.length],
          restore === null
            ? null
            : ['Database', restore === 'normal' ? 'newest state' : 'not confirmed as newest'],
        ]}
      />
    </Card>
  );
}
