import { stateTables, actionDecision } from '@millrace/contract/states';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { StateBadge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, CommandHint, CopyButton, Id } from '../../ui/copy.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { LiveCost, Money, PerHour } from '../../ui/money.tsx';
import { Card, DescriptionList, KeyFigures, PageHeader } from '../../ui/page.tsx';
import { Note, QueryView } from '../../ui/states.tsx';
import { Timestamp, useNow } from '../../ui/time.tsx';
import { StepList } from '../rentals/detail/step-list.tsx';
import {
  instanceBilling,
  instanceRefetchMs,
  portAddress,
  provisioningSteps,
  type Instance,
} from './instance.ts';
import { LinkButton, TextLink } from '../../ui/link.tsx';

export function InstancePage() {
  const { name } = useParams({ from: '/shell/inside/instances/$name' });
  const instance = useApiQuery(
    ['instances', 'one', name],
    async (client, signal) => client.marketplace.instances.get({ name }, { signal }),
    { refetchMs: instanceRefetchMs },
  );
  return (
    <>
      {instance.data === undefined && <PageHeader title={name} back={back} />}
      <QueryView query={instance} what="instance">
        {(found: Instance) => <InstanceDetail instance={found} />}
      </QueryView>
    </>
  );
}

const back = <TextLink to="/instances">Instances</TextLink>;

function InstanceDetail({ instance }: Readonly<{ instance: Instance }>) {
  const { name, status } = instance;
  const isOver = status === 'terminated' || status === 'stopping' || status === 'failed';
  return (
    <>
      <PageHeader
        title={name}
        about={`${String(instance.gpuCount)} × ${instance.gpuModel} in ${instance.region}`}
        back={back}
        actions={<Terminate instance={instance} />}
      />
      {isOver && <Receipt instance={instance} />}
      <StateCard instance={instance} />
      {!isOver && <Connect instance={instance} />}
      <InstanceFacts instance={instance} />
      <CommandHint command={`millrace market instance get ${name}`} />
    </>
  );
}

function StateCard({ instance }: Readonly<{ instance: Instance }>) {
  const now = useNow(1_000);
  const { status, statusReason, statusSince, costPerHourNanoUsd, costSoFarNanoUsd } = instance;
  const { meaning, deadline } = stateTables.instance.states[status];
  const { mode } = useSession().place;
  const { isBilled, words } = instanceBilling(instance);
  const steps = provisioningSteps(instance, now);
  return (
    <>
      <KeyFigures
        items={[
          {
            label: 'Status',
            value: <StateBadge state={status} />,
            note: (
              <>
                since <Timestamp at={statusSince} />
              </>
            ),
          },
          {
            label: 'Cost per hour',
            value: <PerHour nano={isBilled ? costPerHourNanoUsd : '0'} />,
            note:
              mode === 'test' ? (
                <>
                  <LiveCost nano={instance.liveCostPerHourNanoUsd} perHour />
                  Free in test mode.
                </>
              ) : (
                words
              ),
          },
          { label: 'Cost so far', value: <Money nano={costSoFarNanoUsd} /> },
        ]}
      />
      <Card title="Status">
        <div className="flex flex-col gap-3" aria-live="polite">
          <div>
            <p>{meaning}</p>
            {deadline !== null && <p className="text-soft text-xs">Duration: {deadline}</p>}
          </div>
          {statusReason !== null && <Note tone={status === 'failed' ? 'bad' : 'info'}>{statusReason}</Note>}
          {steps.length > 0 && <StepList steps={steps} label="Provisioning" />}
        </div>
      </Card>
    </>
  );
}

function Connect({ instance }: Readonly<{ instance: Instance }>) {
  const { sshCommand, ports, name } = instance;
  return (
    <Card title="Connect">
      <div className="flex flex-col gap-3">
        {sshCommand === null ? (
          <p className="text-soft">The SSH command appears here when the machine is ready.</p>
        ) : (
          <>
            <CodeBlock code={sshCommand} what="SSH command" label="Log in" />
            <CodeBlock code={`millrace ssh ${name}`} what="CLI command" label="Or use the CLI" />
          </>
        )}
        {ports.length > 0 && (
          <div>
            <h3 className="mb-1">Ports</h3>
            <ul className="flex flex-col gap-1">
              {ports.map((port) => {
                const { text, href } = portAddress(port);
                return (
                  <li key={text} className="flex items-center gap-1">
                    {href === null ? (
                      <code className="break-all">{text}</code>
                    ) : (
                      <a href={href} rel="noreferrer" target="_blank" className="break-all underline">
                        {text}
                      </a>
                    )}
                    <CopyButton text={href ?? `${port.domain}:${String(port.port)}`} what="port address" />
                  </li>
                );
              })}
            </ul>
          </div>
        )}
      </div>
    </Card>
  );
}

function InstanceFacts({ instance }: Readonly<{ instance: Instance }>) {
  return (
    <Card title="Details">
      <DescriptionList
        items={[
          ['Name', <Id key="name" value={instance.name} what="name" />],
          ['GPUs', `${String(instance.gpuCount)} × ${instance.gpuModel} (${instance.gpuVerification})`],
          [
            'Price',
            <span key="price">
              <PerHour nano={instance.costPerHourNanoUsd} />
              <LiveCost nano={instance.liveCostPerHourNanoUsd} perHour />
            </span>,
          ],
          ['Image', instance.image ?? 'machine default'],
          ['Machine', <Id key="node" value={instance.nodeName} what="machine ID" />],
          ['Supplier', instance.supplierId === 'platform' ? 'operator' : instance.supplierId],
          ['Created', <Timestamp key="created" at={instance.createdAt} />],
          instance.startedAt === null
            ? null
            : ['Ready since', <Timestamp key="started" at={instance.startedAt} />],
          instance.endedAt === null ? null : ['Ended', <Timestamp key="ended" at={instance.endedAt} />],
          instance.expiresAt === null
            ? null
            : ['Terminates automatically', <Timestamp key="expires" at={instance.expiresAt} />],
          instance.maxUsd === null ? null : ['Spending limit', `$${String(instance.maxUsd)}`],
          Object.keys(instance.tags).length === 0
            ? null
            : [
                'Tags',
                Object.entries(instance.tags)
                  .map(([tag, value]) => `${tag}=${value}`)
                  .join(', '),
              ],
        ]}
      />
    </Card>
  );
}

function Receipt({ instance }: Readonly<{ instance: Instance }>) {
  const { startedAt, endedAt, costSoFarNanoUsd, costPerHourNanoUsd, status } = instance;
  return (
    <Card title="Receipt" about={instance.name}>
      <div className="flex flex-col gap-3">
        <p className="text-2xl font-semibold">
          <Money nano={costSoFarNanoUsd} />
        </p>
        <DescriptionList
          items={[
            [
              'Ready from',
              startedAt === null ? 'Never ready, so not billed' : <Timestamp key="from" at={startedAt} />,
            ],
            endedAt === null ? null : ['Until', <Timestamp key="until" at={endedAt} />],
            [
              'Cost per hour',
              <span key="hour">
                <PerHour nano={costPerHourNanoUsd} />
                <LiveCost nano={instance.liveCostPerHourNanoUsd} perHour />
              </span>,
            ],
          ]}
        />
        {status === 'stopping' && <Note>Billing has stopped. The machine is being deleted.</Note>}
        <div>
          <LinkButton
            to="/ledger"
            search={{ causeKind: 'instance', causeId: String(instance.number) }}
            size="small"
          >
            View in the ledger
          </LinkButton>
        </div>
      </div>
    </Card>
  );
}

function Terminate({ instance }: Readonly<{ instance: Instance }>) {
  const { mayNot } = useSession();
  const [isOpen, setOpen] = useState(false);
  const { name, status, costSoFarNanoUsd } = instance;
  const decision = actionDecision(stateTables.instance, 'terminate', status);
  const off =
    mayNot('marketplace:write') ||
    (decision !== 'allowed' && 'This instance is already terminated or terminating.');
  return (
    <>
      <Button kind="danger" off={off} onClick={() => setOpen(true)}>
        Terminate
      </Button>
      <ConfirmDialog
        title={`Terminate ${name}?`}
        open={isOpen}
        onClose={() => setOpen(false)}
        action="Terminate"
        doing="Terminating…"
        typed={name}
        run={(client) => client.marketplace.instances.terminate({ id: name })}
        changes={['instances', 'marketplace', 'money']}
        onDone={(toast) => toast(`Terminating ${name}`, 'Billing has stopped.')}
      >
        <p>The disk and all its data are permanently deleted. You cannot stop an instance and keep it.</p>
        <p>
          Billing stops at once. Cost so far: <Money nano={costSoFarNanoUsd} />. You pay nothing afterwards.
        </p>
      </ConfirmDialog>
    </>
  );
}
