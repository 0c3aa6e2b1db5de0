import type { Output } from '@millrace/sdk';
import { parseUsd, approximateDuration, usdText } from '@millrace/sdk/text';
import { getRouteApi } from '@tanstack/react-router';
import { History as HistoryIcon } from 'lucide-react';
import { useState } from 'react';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation, useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Badge, StateBadge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint, Id } from '../../ui/copy.tsx';
import { TextField } from '../../ui/field.tsx';
import { Money } from '../../ui/money.tsx';
import { Card, DescriptionList, KeyFigures, PageHeader } from '../../ui/page.tsx';
import { EmptyState, Note, Problem, QueryView } from '../../ui/states.tsx';
import { QueryPage } from '../../ui/query-page.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { RelativeTime, Timestamp } from '../../ui/time.tsx';
import { useToast } from '../../ui/toast.tsx';
import { RequireSupplier } from './account.tsx';
import { MachineActions } from './machine-actions.tsx';
import { percentText } from './percent-text.ts';
import { reliabilityFaults } from './reliability-faults.ts';
import { marketStatus } from './market-status.ts';
import { Form } from '../../ui/form.tsx';
import { TextLink } from '../../ui/link.tsx';

const route = getRouteApi('/shell/inside/supplier/machines/$machineId');

const toMachines = <TextLink to="/supplier/machines">My machines</TextLink>;

type Machine = Output<'supplierGetMachine'>;
type HistoryEntry = Output<'supplierGetMachineHistory'>['items'][number];

export function MachinePage() {
  return <RequireSupplier title="Machine">{() => <Loaded />}</RequireSupplier>;
}

function Loaded() {
  const { machineId } = route.useParams();
  const machine = useApiQuery(
    ['supplier', 'machine', machineId],
    (client, signal) => client.supplier.machines.get({ machineId }, { signal }),
    { refetchMs: 2_000 },
  );
  return (
    <QueryPage query={machine} title="Machine" what="machine" back={toMachines}>
      {(loaded) => <Detail machine={loaded} />}
    </QueryPage>
  );
}

function Detail({ machine }: Readonly<{ machine: Machine }>) {
  const standing = marketStatus(machine);
  return (
    <>
      <PageHeader
        title={machine.name}
        back={toMachines}
        about={
          <span className="flex flex-wrap items-center gap-2">
            <StateBadge state={machine.status} />
            {machine.statusReason}
          </span>
        }
        actions={<MachineActions machine={machine} />}
      />
      <div className="mb-4">
        <Note tone={standing.tone}>
          Marketplace: {standing.label}. {standing.why}
        </Note>
      </div>
      <KeyFigures
        items={[
          {
            label: 'Price',
            value:
              machine.pricePerGpuHourNanoUsd === null ? (
                'not set'
              ) : (
                <Money nano={machine.pricePerGpuHourNanoUsd} />
              ),
            note: 'per GPU-hour',
          },
          {
            label: 'Rented',
            value: `${String(machine.gpusRented)} of ${String(machine.gpus.length)}`,
            note: 'GPUs',
          },
          {
            label: 'Approval',
            value: machine.approval,
            ...(machine.approvalReason === null ? {} : { note: machine.approvalReason }),
          },
          {
            label: 'Reliability',
            value: machine.reliability === null ? 'not measured' : percentText(machine.reliability.score),
            note: (machine.reliability !== null && reliabilityFaults(machine.reliability)) || 'last 30 days',
          },
        ]}
      />
      <PriceForm key={machine.id} machine={machine} />
      <Trust machine={machine} />
      <Hardware machine={machine} />
      <History machineId={machine.id} />
      <CommandHint command={`millrace supplier machine get ${machine.id}`} />
    </>
  );
}

/** Price and listing in one form, because an unpriced machine cannot be listed. */
function PriceForm({ machine }: Readonly<{ machine: Machine }>) {
  const { mayNot } = useSession();
  const toast = useToast();
  const known = machine.pricePerGpuHourNanoUsd;
  const [amount, setAmount] = useState(known === null ? '' : usdText(known).slice(1));
  const update = useApiMutation(
    (client, change: { readonly listed?: boolean; readonly pricePerGpuHourNanoUsd?: string }) =>
      client.supplier.machines.update({ machineId: machine.id, ...change }),
    { changes: ['supplier', 'marketplace'], onSuccess: () => toast('Saved', `${machine.name} was updated.`) },
  );
  const nano = parseUsd(amount);
  const issue =
    (nano === null && 'Enter dollars with at most nine decimals, such as 1.85.') ||
    (nano !== null && nano <= 0n && 'Enter a price above zero.') ||
    (nano !== null && nano.toString() === known && 'This is the current price.');
  return (
    <Card
      title="Price"
      about="Running instances keep their price. A lower price applies at once, a higher one after a minute."
      actions={
        <Button
          size="small"
          busy={update.isPending && 'Saving…'}
          off={mayNot('supplier:write') || (!machine.listed && known === null && 'Set a price first.')}
          onClick={() => update.mutate({ listed: !machine.listed })}
        >
          {machine.listed ? 'Unlist' : 'List on marketplace'}
        </Button>
      }
    >
      <Form
        className="flex flex-wrap items-end gap-3"
        onSend={() => {
          if (issue === false && nano !== null) update.mutate({ pricePerGpuHourNanoUsd: nano.toString() });
        }}
      >
        <TextField
          label="Price per GPU-hour (USD)"
          inputMode="decimal"
          placeholder="1.85"
          value={amount}
          error={fieldIssue(update.error, 'pricePerGpuHourNanoUsd')}
          onValue={setAmount}
        />
        <Button
          type="submit"
          kind="primary"
          busy={update.isPending && 'Saving…'}
          off={mayNot('supplier:write') || issue}
        >
          Set price
        </Button>
      </Form>
      {update.error !== null && (
        <div className="mt-3">
          <Problem error={update.error} doing="update the machine" />
        </div>
      )}
    </Card>
  );
}

function Trust({ machine }: Readonly<{ machine: Machine }>) {
  const { reliability } = machine;
  return (
    <Card
      title="Reliability"
      about="Measured over the last 30 days, and counted together with a day and ten starts at 90 %, so a new machine begins near 90 %. You and the operator see the score."
    >
      {reliability === null ? (
        <p className="text-soft">No data yet. Measuring starts when the machine is in service.</p>
      ) : (
        <DescriptionList
          items={[
            ['Score', percentText(reliability.score)],
            [
              'Uptime',
              `${percentText(reliability.uptime)} of ${approximateDuration(reliability.watchedSeconds)}`,
            ],
            ['Start success', percentText(reliability.starting)],
            [
              'Instances',
              `${String(reliability.starts)} started, ${String(reliability.failedStarts)} failed to start, ${String(reliability.losses)} lost`,
            ],
            ['Quarantined', `${String(reliability.quarantines)} times`],
            ['Measured until', <Timestamp key="until" at={reliability.measuredUntil} />],
          ]}
        />
      )}
    </Card>
  );
}

const gpuColumns: readonly Column<Machine['gpus'][number]>[] = [
  { head: 'GPU', main: true, cell: ({ model, verification }) => `${model} (${verification})` },
  { head: 'Memory', right: true, cell: ({ ramMb }) => (ramMb === 0 ? 'unknown' : `${String(ramMb)} MB`) },
  { head: 'PCI address', cell: ({ pciAddress }) => <code>{pciAddress}</code> },
  {
    head: 'Status',
    cell: ({ state, stateReason }) => (
      <>
        <Badge tone={state === 'present' ? 'good' : 'bad'}>{state}</Badge>
        {stateReason !== null && <span className="text-soft block text-xs">{stateReason}</span>}
      </>
    ),
  },
];

function Hardware({ machine }: Readonly<{ machine: Machine }>) {
  return (
    <Card title="Machine">
      <DescriptionList
        items={[
          ['ID', <Id key="id" value={machine.id} what="machine ID" />],
          ['Location', `${machine.clusterName}, ${machine.region}`],
          ['Joined', <Timestamp key="joined" at={machine.joinedAt} />],
          [
            'Last seen',
            machine.lastSeenAt === null ? 'never' : <RelativeTime key="seen" at={machine.lastSeenAt} />,
          ],
          machine.drainedAt === null
            ? null
            : ['Drained by you', <Timestamp key="drained" at={machine.drainedAt} />],
        ]}
      />
      <div className="border-line -mx-4 mt-4 -mb-4 border-t">
        <Table caption={`GPUs of ${machine.name}`} columns={gpuColumns} rows={machine.gpus} />
      </div>
    </Card>
  );
}

const kinds: Readonly<Record<HistoryEntry['kind'], string>> = {
  state: 'changed',
  failed_start: 'instance failed to start',
  loss: 'instance lost',
};

const historyColumns: readonly Column<HistoryEntry>[] = [
  { head: 'Time', main: true, cell: ({ at }) => <Timestamp at={at} /> },
  {
    head: 'Event',
    cell: ({ kind, status }) => (status === null ? kinds[kind] : <StateBadge state={status} />),
  },
  { head: 'Reason', cell: ({ reason }) => reason },
];

function History({ machineId }: Readonly<{ machineId: string }>) {
  const history = useApiQuery(
    ['supplier', 'machine', machineId, 'history'],
    (client, signal) => client.supplier.machines.listHistory({ machineId }, { signal }).all(),
    { refetchMs: 10_000 },
  );
  return (
    <Card title="History" about="Latest 100 events." flush>
      <QueryView query={history} what="history">
        {(items) =>
          items.length === 0 ? (
            <EmptyState icon={HistoryIcon} title="No events yet" />
          ) : (
            <Table
              caption="Machine history"
              columns={historyColumns}
              rows={items}
              rowKey={({ at, kind, reason }) => `${at} ${kind} ${reason}`}
            />
          )
        }
      </QueryView>
    </Card>
  );
}
