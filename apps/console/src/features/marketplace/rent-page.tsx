import { useNavigate, useParams } from '@tanstack/react-router';
import type { Output } from '@millrace/sdk';
import { usdToNano } from '@millrace/sdk/text';
import { Store } from 'lucide-react';
import { useRef, useState, type ReactNode } from 'react';
import { useApiMutation, useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint, Id } from '../../ui/copy.tsx';
import { TextField } from '../../ui/field.tsx';
import { LiveCost, Money, PerHour } from '../../ui/money.tsx';
import { Card, DescriptionList, PageHeader } from '../../ui/page.tsx';
import { EmptyState, Problem, QueryView } from '../../ui/states.tsx';
import { attemptFor, type IdempotentAttempt } from '../create/idempotency.ts';
import { FORM_ID } from '../create/form-id.ts';
import { useBalance } from '../money/use-spending.ts';
import { KeysCard, useSshKeys } from '../create/keys-card.tsx';
import { freeGpus, gpuLabel, hardwareTexts, networkTexts, perHour, type Machine } from './machine.ts';
import {
  findRentBlockers,
  newDraft,
  priceLabels,
  parseRentForm,
  rentCommand,
  runwayWith,
  type InstanceDraft,
  type CreateInstanceRequest,
} from './rent-form.ts';
import { testRegion } from './search.ts';
import { Form } from '../../ui/form.tsx';
import { LinkButton, TextLink } from '../../ui/link.tsx';

export function RentPage() {
  const { nodeName } = useParams({ from: '/shell/inside/marketplace/$nodeName' });
  const { place } = useSession();
  const region = place.mode === 'test' ? { region: testRegion } : {};
  const machine = useApiQuery(
    ['marketplace', 'machine', nodeName],
    async (client, signal) => {
      const page = await client.marketplace.list(
        { filters: { id: nodeName, ...region }, limit: 1 },
        { signal },
      );
      return page.items[0] ?? null;
    },
    { refetchMs: 5_000 },
  );
  return (
    <QueryView query={machine} what="machine">
      {(found: Machine | null) =>
        found === null ? <MachineNotFound nodeName={nodeName} /> : <Rent machine={found} />
      }
    </QueryView>
  );
}

const back = <TextLink to="/marketplace">Marketplace</TextLink>;

function MachineNotFound({ nodeName }: Readonly<{ nodeName: string }>) {
  return (
    <>
      <PageHeader title="This machine is not for rent" back={back} />
      <Card>
        <EmptyState
          icon={Store}
          title="The supplier removed this machine, or the address is wrong."
          action={
            <LinkButton to="/marketplace" kind="primary">
              Browse the marketplace
            </LinkButton>
          }
        >
          <Id value={nodeName} what="machine ID" />
        </EmptyState>
      </Card>
    </>
  );
}

function Rent({ machine }: Readonly<{ machine: Machine }>) {
  const session = useSession();
  const navigate = useNavigate();
  const [draft, setDraft] = useState(newDraft);
  const keys = useSshKeys();
  const balance = useBalance(session.may('billing:read'));
  const attempt = useRef<IdempotentAttempt | null>(null);
  const create = useApiMutation(
    (client, order: CreateInstanceRequest) => {
      attempt.current = attemptFor(attempt.current, order, () => globalThis.crypto.randomUUID());
      return client.marketplace.instances.create(order, { idempotencyKey: attempt.current.key });
    },
    {
      changes: ['instances', 'marketplace', 'money'],
      onSuccess: ({ instance_name: name }) => void navigate({ to: '/instances/$name', params: { name } }),
    },
  );
  const read = parseRentForm(draft, machine);
  const keysChosen = keys.data === undefined ? null : (draft.sshKeyIds ?? keys.data).length;
  const blockers = findRentBlockers(machine, read, {
    mayNot: session.mayNot('marketplace:write'),
    keys: keysChosen,
    availableNanoUsd: balance.data?.availableNanoUsd ?? null,
    mode: session.place.mode,
  });
  const send = (): void => {
    if (blockers.length === 0 && !create.isPending) create.mutate(read.order);
  };
  return (
    <>
      <PageHeader
        title={`Rent ${gpuLabel(machine)}`}
        about={`${String(freeGpus(machine))} of ${String(machine.gpus_total)} GPUs available. The owner of the host can read your data.`}
        back={back}
      />
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <Form id={FORM_ID} onSend={send} className="hidden" />
        <div className="min-w-0">
          <RentFields draft={draft} onDraft={setDraft} issues={read.issues} machine={machine} />
          <QueryView query={keys} what="SSH keys">
            {(all) => (
              <KeysCard
                keys={all}
                chosen={draft.sshKeyIds}
                onChoose={(sshKeyIds) => setDraft({ ...draft, sshKeyIds })}
              />
            )}
          </QueryView>
          <MachineCard machine={machine} />
        </div>
        <div className="min-w-0 lg:sticky lg:top-4">
          <CostCard machine={machine} gpus={read.gpus} balance={balance.data}>
            {blockers.length > 0 && (
              <ul aria-label="Before you can rent" className="text-warn list-disc pl-4 text-xs">
                {blockers.map((why) => (
                  <li key={why}>{why}</li>
                ))}
              </ul>
            )}
            {create.error !== null && <Problem error={create.error} doing="rent the machine" />}
            <Button
              kind="primary"
              type="submit"
              form={FORM_ID}
              busy={create.isPending && 'Renting…'}
              off={blockers[0] ?? false}
            >
              Rent GPUs
            </Button>
          </CostCard>
          <CommandHint command={rentCommand(read, draft)} />
        </div>
      </div>
    </>
  );
}

interface RentFieldsProps {
  readonly draft: InstanceDraft;
  readonly onDraft: (draft: InstanceDraft) => void;
  readonly issues: ReturnType<typeof parseRentForm>['issues'];
  readonly machine: Machine;
}

function RentFields({ draft, onDraft, issues, machine }: RentFieldsProps) {
  const field = (name: Exclude<keyof InstanceDraft, 'sshKeyIds'>) => ({
    form: FORM_ID,
    value: draft[name],
    onValue: (value: string) => onDraft({ ...draft, [name]: value }),
  });
  return (
    <Card title="Configuration">
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="GPUs"
          type="number"
          min={1}
          max={Math.max(1, freeGpus(machine))}
          hint={`Up to ${String(freeGpus(machine))}. You get CPUs, memory and disk in proportion.`}
          error={issues.gpus}
          {...field('gpus')}
        />
        <TextField
          label="Image"
          hint="An image of the machine, such as ubuntu:24.04. Leave empty for its default."
          placeholder="ubuntu:24.04"
          {...field('image')}
        />
        <TextField
          label="Open ports"
          hint="In addition to SSH. They get HTTPS hostnames if the operator has set up a domain."
          placeholder="8080, 8443"
          error={issues.ports}
          {...field('ports')}
        />
        <TextField
          label="Time to live"
          hint="Leave empty to run until you terminate it."
          placeholder="8h"
          error={issues.ttl}
          {...field('ttl')}
        />
        <TextField
          label="Spending limit (USD)"
          hint="The instance is terminated before it costs more. Leave empty for no limit."
          placeholder="20"
          inputMode="decimal"
          error={issues.maxUsd}
          {...field('maxUsd')}
        />
      </div>
    </Card>
  );
}

function MachineCard({ machine }: Readonly<{ machine: Machine }>) {
  return (
    <Card title="Machine" about="As reported by the machine. Network speed was measured when it joined.">
      <DescriptionList
        items={[
          ['Machine', <Id key="id" value={machine.id} what="machine ID" />],
          ['GPUs', `${String(machine.gpus_total)} × ${gpuLabel(machine)}`],
          ['Hardware', hardwareTexts(machine).join('; ') || 'not reported'],
          ['Network', networkTexts(machine).join('; ') || 'not measured'],
          ['Region', machine.location.region],
          ['Supplier', machine.supplier_id === 'platform' ? 'operator' : machine.supplier_id],
        ]}
      />
    </Card>
  );
}

interface CostCardProps {
  readonly machine: Machine;
  readonly gpus: number;
  readonly balance: Output<'getBalance'> | undefined;
  readonly children: ReactNode;
}

/** Exact cost, runway and conditions. */
function CostCard({ machine, gpus, balance, children }: CostCardProps) {
  const { mode } = useSession().place;
  const labels = priceLabels(mode);
  const hour = perHour(machine, gpus);
  const money = mode === 'test' ? undefined : balance;
  return (
    <Card title="Cost">
      <div className="flex flex-col gap-3">
        <DescriptionList
          items={[
            [labels.each, <PerHour key="each" nano={perHour(machine, 1)} />],
            ['GPUs', gpus],
            mode === 'test'
              ? [
                  'Per hour',
                  <span key="hour">
                    <strong>
                      <PerHour nano="0" />
                    </strong>{' '}
                    in test mode
                    <LiveCost nano={hour} perHour />
                  </span>,
                ]
              : [
                  'Per hour',
                  <strong key="hour">
                    <PerHour nano={hour} />
                  </strong>,
                ],
            mode === 'test' ? null : ['While starting', 'free'],
            money === undefined
              ? null
              : ['Available', <Money key="available" nano={money.availableNanoUsd} />],
            money === undefined
              ? null
              : ['Runway', runwayWith(money.availableNanoUsd, usdToNano(money.burnRateUsdPerHour), hour)],
          ]}
        />
        {mode === 'live' && machine.supplier_id !== 'platform' && (
          <p className="text-soft text-xs">You cannot use promotional credit for machines of suppliers.</p>
        )}
        <p className="text-soft text-xs">
          Billed by the second once the machine is ready. The price stays fixed. You cannot stop and keep an
          instance: terminating it deletes its disk.
        </p>
        {children}
      </div>
    </Card>
  );
}
