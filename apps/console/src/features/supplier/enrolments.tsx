import type { Item } from '@millrace/sdk';
import { Check, Circle, LoaderCircle, PlugZap, X } from 'lucide-react';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Card } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { TextLink } from '../../ui/link.tsx';

type Enrolment = Item<'supplierListEnrolments'>;
type Step = Enrolment['steps'][number];

const tones: Readonly<Record<Enrolment['stage'], Tone>> = {
  trusting: 'info',
  inspecting: 'info',
  testing: 'info',
  enrolled: 'good',
  refused: 'bad',
  withdrawn: 'plain',
};

const stepLabels: Readonly<Record<Step['name'], string>> = {
  trusting: 'exchanging trust',
  inspecting: 'reading hardware',
  testing: 'running the self-test',
};

const icons: Readonly<Record<Step['status'], typeof Check>> = {
  done: Check,
  'under-way': LoaderCircle,
  'to-do': Circle,
  failed: X,
};

function Steps({ steps }: Readonly<{ steps: readonly Step[] }>) {
  return (
    <ol className="flex flex-col gap-0.5 text-left">
      {steps.map(({ name, status }) => {
        const Icon = icons[status];
        return (
          <li key={name} className="flex items-center gap-1.5">
            <Icon aria-hidden className={`size-3.5 ${status === 'under-way' ? 'animate-spin' : ''}`} />
            {stepLabels[name]}
            <span className="text-soft text-xs">{status.replaceAll('-', ' ')}</span>
          </li>
        );
      })}
    </ol>
  );
}

const columns: readonly Column<Enrolment>[] = [
  {
    head: 'Machine',
    main: true,
    cell: ({ name, endpoint, machineId }) => (
      <>
        {machineId === null ? (
          name
        ) : (
          <TextLink to="/supplier/machines/$machineId" params={{ machineId }}>
            {name}
          </TextLink>
        )}
        <span className="text-soft block text-xs font-normal wrap-anywhere">{endpoint}</span>
      </>
    ),
  },
  {
    head: 'Stage',
    cell: ({ stage, problem, deadlineAt }) => (
      <>
        <Badge tone={tones[stage]}>{stage}</Badge>
        {problem !== null && <span className="block text-xs">{problem}</span>}
        {deadlineAt !== null && (
          <span className="text-soft block text-xs">
            times out <RelativeTime at={deadlineAt} />
          </span>
        )}
      </>
    ),
  },
  { head: 'Steps', cell: ({ steps }) => <Steps steps={steps} /> },
  {
    head: 'Measured',
    cell: ({ tests }) =>
      tests === null
        ? 'not yet'
        : `${String(tests.gpu.count)} GPUs, disk ${String(tests.disk.mibPerSecond)} MiB/s, net ${String(tests.network.downMbps)}/${String(tests.network.upMbps)} Mbit/s`,
  },
  { head: 'Joined', cell: ({ joinedAt }) => <RelativeTime at={joinedAt} /> },
];

export function Enrolments() {
  const pages = usePages(
    ['supplier', 'enrolments'],
    (client, signal) => client.supplier.enrolments.list({ limit: 20 }, { signal }),
    { refetchMs: 2_000 },
  );
  return (
    <>
      <Card
        title="Joining machines"
        about="Each machine exchanges trust, is inspected and runs a self-test."
        flush
      >
        <PagedTable
          pages={pages}
          what="machines"
          caption="Joining machines"
          columns={columns}
          icon={PlugZap}
          empty="No machines joining"
          hint="A machine appears here seconds after you run the join command on it."
        />
      </Card>
      <CommandHint command="millrace supplier enrolment list" />
    </>
  );
}
