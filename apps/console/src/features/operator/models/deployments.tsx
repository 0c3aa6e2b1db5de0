import type { Input, Item } from '@millrace/sdk';
import { percentOf } from '@millrace/sdk/text';
import { Rocket } from 'lucide-react';
import { useState } from 'react';
import { Badge, type Tone } from '../../../ui/badge.tsx';
import { CopyButton } from '../../../ui/copy.tsx';
import { CheckboxField, SelectField, TextField } from '../../../ui/field.tsx';
import { Card } from '../../../ui/page.tsx';
import { EmptyState } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { parseOptionalInteger, requestShareText } from './model-summary.ts';
import { integerIssue } from '../common/number-issues.ts';

type Model = Item<'adminListModels'>;
type Deployment = Item<'adminListDeployments'>;
type Engine = Input<'adminCreateDeployment'>['engine'];

const engines: readonly Engine[] = [
  'vllm',
  'sglang',
  'llama.cpp',
  'openai',
  'openai-images',
  'automatic1111',
  'comfyui',
  'speech',
  'mock',
];

const healthTones: Readonly<Record<Deployment['health'], Tone>> = {
  healthy: 'good',
  degraded: 'warn',
  down: 'bad',
  unknown: 'plain',
};

const columnsOf = (deployments: readonly Deployment[]): readonly Column<Deployment>[] => [
  {
    head: 'Model',
    main: true,
    cell: ({ id, model, upstreamModel }) => (
      <span className="break-all">
        {model} <CopyButton text={id} what={`deployment ID of ${model}`} />
        {upstreamModel !== model && (
          <span className="text-soft block text-xs font-normal">upstream: {upstreamModel}</span>
        )}
      </span>
    ),
  },
  {
    head: 'Engine',
    cell: ({ engine, address, region, hasApiKey }) => (
      <>
        {engine}, {region}
        <span className="text-soft block text-xs wrap-anywhere">
          {address}
          {hasApiKey && ', with API key'}
        </span>
      </>
    ),
  },
  {
    head: 'Health',
    cell: ({ health, healthSince }) => (
      <>
        <Badge tone={healthTones[health]}>{health}</Badge>
        <span className="text-soft block text-xs">
          since <RelativeTime at={healthSince} />
        </span>
      </>
    ),
  },
  {
    head: 'Weight',
    right: true,
    cell: (deployment) => (
      <>
        {deployment.weight}
        <span className="text-soft block text-xs">
          {requestShareText(
            deployment,
            deployments.filter(({ model }) => model === deployment.model),
            percentOf,
          )}
        </span>
      </>
    ),
  },
  { head: 'Max concurrency', right: true, cell: ({ maxConcurrency }) => maxConcurrency ?? 'no limit' },
  {
    head: 'Actions',
    cell: (deployment) => (
      <span className="flex flex-wrap justify-end gap-1 md:justify-start">
        <EditDeployment key={deployment.updatedAt} deployment={deployment} />
        <RemoveDeployment deployment={deployment} />
      </span>
    ),
  },
];

export function Deployments({
  models,
  deployments,
  of,
}: Readonly<{ models: readonly Model[]; deployments: readonly Deployment[]; of: string | undefined }>) {
  return (
    <Card
      title={of === undefined ? 'Engines' : `Engines of ${of}`}
      about="Requests go to healthy engines in proportion to their weight."
      flush
      actions={<AddDeployment key={of ?? ''} models={models} of={of} />}
    >
      {deployments.length === 0 ? (
        <EmptyState icon={Rocket} title="No engines yet">
          An engine is a server that runs a model. Start one, then register its address here.
        </EmptyState>
      ) : (
        <Table caption="Engines" columns={columnsOf(deployments)} rows={deployments} />
      )}
    </Card>
  );
}

interface Form {
  readonly address: string;
  readonly region: string;
  readonly upstreamModel: string;
  readonly weight: string;
  readonly maxConcurrency: string;
  /** Write-only. */
  readonly apiKey: string;
}

function formIssue(form: Form): string | false {
  return (
    (form.address.trim() === '' && 'Enter the address of the engine.') ||
    (form.region.trim() === '' && 'Enter a region.') ||
    integerIssue('The weight', form.weight, { min: 0, max: 1_000 }) ||
    (form.maxConcurrency.trim() !== '' &&
      integerIssue('Max concurrency', form.maxConcurrency, { min: 1, max: 100_000 }))
  );
}

function AddDeployment({ models, of }: Readonly<{ models: readonly Model[]; of: string | undefined }>) {
  const empty = { address: '', region: '', upstreamModel: '', weight: '100', maxConcurrency: '', apiKey: '' };
  const [model, setModel] = useState(of ?? models[0]?.name ?? '');
  const [engine, setEngine] = useState<Engine>('vllm');
  const [form, setForm] = useState<Form>(empty);
  return (
    <ActionButton
      run={(client, reason) =>
        client.admin.deployments.create({
          model: model === '' ? (models[0]?.name ?? '') : model,
          engine,
          address: form.address.trim(),
          region: form.region.trim(),
          weight: Number(form.weight),
          maxConcurrency: parseOptionalInteger(form.maxConcurrency),
          ...(form.upstreamModel.trim() === '' ? {} : { upstreamModel: form.upstreamModel.trim() }),
          ...(form.apiKey === '' ? {} : { apiKey: form.apiKey }),
          reason,
        })
      }
      label="Register engine"
      title="Register an engine"
      doing="Registering…"
      done="Registered. Its health appears within seconds."
      changes={['admin', 'models']}
      off={models.length === 0 && 'Add a model first.'}
      wait={formIssue(form)}
      onDone={() => setForm(empty)}
    >
      <SelectField
        label="Model"
        value={model}
        issue="model"
        choices={models.map(({ name }) => ({ value: name, label: name }))}
        onValue={setModel}
      />
      <SelectField label="Engine" value={engine} choices={engines} onValue={setEngine} />
      <DeploymentFields form={form} set={(change) => setForm({ ...form, ...change })} />
    </ActionButton>
  );
}

function EditDeployment({ deployment }: Readonly<{ deployment: Deployment }>) {
  const start: Form = {
    address: deployment.address,
    region: deployment.region,
    upstreamModel: deployment.upstreamModel,
    weight: String(deployment.weight),
    maxConcurrency: deployment.maxConcurrency === null ? '' : String(deployment.maxConcurrency),
    apiKey: '',
  };
  const [form, setForm] = useState(start);
  const [enabled, setEnabled] = useState(deployment.enabled);
  return (
    <ActionButton
      label="Edit"
      title={`Edit deployment of ${deployment.model} at ${deployment.address}`}
      doing="Saving…"
      done="Saved."
      changes={['admin', 'models']}
      wait={formIssue(form)}
      onOpen={() => {
        setForm(start);
        setEnabled(deployment.enabled);
      }}
      run={(client, reason) =>
        client.admin.deployments.update({
          deploymentId: deployment.id,
          address: form.address.trim(),
          region: form.region.trim(),
          weight: Number(form.weight),
          maxConcurrency: parseOptionalInteger(form.maxConcurrency),
          enabled,
          ...(form.upstreamModel.trim() === '' ? {} : { upstreamModel: form.upstreamModel.trim() }),
          ...(form.apiKey === '' ? {} : { apiKey: form.apiKey }),
          reason,
        })
      }
    >
      <CheckboxField
        label="Enabled"
        hint="If disabled, it gets no new requests; running ones finish."
        checked={enabled}
        onValue={setEnabled}
      />
      <DeploymentFields form={form} set={(change) => setForm({ ...form, ...change })} />
    </ActionButton>
  );
}

function DeploymentFields({ form, set }: Readonly<{ form: Form; set: (change: Partial<Form>) => void }>) {
  const field = (label: string, name: keyof Form, hint: string, type = 'text') => (
    <TextField
      label={label}
      hint={hint}
      type={type}
      autoComplete="off"
      value={form[name]}
      issue={name}
      onValue={(value) => set({ [name]: value })}
    />
  );
  return (
    <>
      {field('Address', 'address', 'For example http://10.0.0.5:8000, without /v1.')}
      {field('Region', 'region', 'Location of the engine.')}
      {field('Upstream model name (optional)', 'upstreamModel', "The engine's name for the model.")}
      <div className="grid grid-cols-1 items-end gap-3 sm:grid-cols-2">
        {field('Weight', 'weight', 'Share of requests, 0 to 1000.')}
        {field('Max concurrency (optional)', 'maxConcurrency', 'Leave empty for no limit.')}
      </div>
      {field(
        'Engine API key (optional)',
        'apiKey',
        'Stored encrypted and never shown. Leave empty to keep the current key.',
        'password',
      )}
    </>
  );
}

function RemoveDeployment({ deployment }: Readonly<{ deployment: Deployment }>) {
  return (
    <ActionButton
      label="Delete"
      title={`Delete deployment of ${deployment.model} at ${deployment.address}`}
      kind="danger"
      doing="Deleting…"
      done="Deployment deleted."
      changes={['admin', 'models']}
      run={(client, reason) => client.admin.deployments.delete({ deploymentId: deployment.id, reason })}
    >
      <p>
        The engine gets no new requests within a second; running streams finish. The engine itself keeps
        running.
      </p>
    </ActionButton>
  );
}
