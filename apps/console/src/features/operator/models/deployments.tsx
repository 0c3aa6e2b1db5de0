import type { Input, Item } from '@millrace/sdk';
import { percentOf } from '@millrace/sdk/text';
import { useState } from 'react';
import { Badge, type Tone } from '../../../ui/badge.tsx';
import { Id } from '../../../ui/copy.tsx';
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
    cell: ({ model, upstreamModel }) => (
      <span className="break-all">
        {model}
        {upstreamModel !== model && (
          <span className="text-soft block text-xs font-normal">there: {upstreamModel}</span>
        )}
      </span>
    ),
  },
  {
    head: 'Engine',
    cell: ({ engine, address, region, hasApiKey }) => (
      <>
        {engine}, {region}
        <span className="text-soft block text-xs break-all">
          {address}
          {hasApiKey && ', with a key'}
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
          <RelativeTime at={healthSince} />
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
  { head: 'At once', right: true, cell: ({ maxConcurrency }) => maxConcurrency ?? 'no limit' },
  { head: 'Id', cell: ({ id }) => <Id value={id} what="deployment id" /> },
  {
    head: 'Act',
    cell: (deployment) => (
      <span className="flex flex-wrap justify-end gap-1 md:justify-start">
        <EditDeployment key={deployment.updatedAt} deployment={deployment} />
        <RemoveDeployment deployment={deployment} />
      </span>
    ),
  },
];

/** Engines that serve models: where, how well, and what part of the requests they get. */
export function Deployments({
  models,
  deployments,
  of,
}: Readonly<{ models: readonly Model[]; deployments: readonly Deployment[]; of: string | undefined }>) {
  return (
    <Card
      title={of === undefined ? 'Deployments' : `Deployments of ${of}`}
      flush
      actions={<AddDeployment key={of ?? ''} models={models} of={of} />}
    >
      {deployments.length === 0 ? (
        <EmptyState title="Nothing serves a model yet">Register an engine that does.</EmptyState>
      ) : (
        <Table caption="Deployments" columns={columnsOf(deployments)} rows={deployments} />
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
  /** Goes in and never comes out. */
  readonly apiKey: string;
}

function formIssue(form: Form): string | false {
  return (
    (form.address.trim() === '' && 'Say where the engine listens.') ||
    (form.region.trim() === '' && 'Say in which region.') ||
    integerIssue('The weight', form.weight, { min: 0, max: 1_000 }) ||
    (form.maxConcurrency.trim() !== '' &&
      integerIssue('Requests at once', form.maxConcurrency, { min: 1, max: 100_000 }))
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
      label="Register an engine"
      title="Register an engine that serves a model"
      doing="Registering…"
      done="Registered. Its health is known within seconds."
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
      title={`Edit the deployment of ${deployment.model} at ${deployment.address}`}
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
        label="Takes requests"
        hint="Switched off, it gets nothing new; what runs there finishes."
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
      {field('Address', 'address', 'Such as http://10.0.0.5:8000, without /v1.')}
      {field('Region', 'region', 'Where the engine is.')}
      {field('Its name there (optional)', 'upstreamModel', 'By which the engine knows the model.')}
      <div className="grid grid-cols-1 items-end gap-3 sm:grid-cols-2">
        {field('Weight', 'weight', 'Its share of the requests, 0 to 1000.')}
        {field('Requests at once (optional)', 'maxConcurrency', 'Empty: no limit.')}
      </div>
      {field(
        'Key of the engine (optional)',
        'apiKey',
        'Kept sealed and never shown. Empty: as it is.',
        'password',
      )}
    </>
  );
}

function RemoveDeployment({ deployment }: Readonly<{ deployment: Deployment }>) {
  return (
    <ActionButton
      label="Forget"
      title={`Forget the deployment of ${deployment.model} at ${deployment.address}`}
      kind="danger"
      doing="Forgetting…"
      done="The deployment is gone."
      changes={['admin', 'models']}
      run={(client, reason) => client.admin.deployments.delete({ deploymentId: deployment.id, reason })}
    >
      <p>
        It gets nothing new within a second, and streams that run there finish. The engine is not touched.
      </p>
    </ActionButton>
  );
}
