import type { Input, Item } from '@millrace/sdk';
import { useState } from 'react';
import { SelectField, TextField } from '../../../ui/field.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { parseNames, parseOptionalInteger } from './model-summary.ts';
import { integerIssue } from '../common/number-issues.ts';

type Model = Item<'adminListModels'>;
type Modality = Input<'adminCreateModel'>['modality'];

const modalities: readonly Modality[] = ['chat', 'completion', 'image', 'audio'];
const tokens = { min: 1, max: 1_000_000_000 };
const changes = ['admin', 'models', 'catalog'] as const;

interface Form {
  readonly name: string;
  readonly modality: Modality;
  readonly mode: 'live' | 'test';
  readonly ownedBy: string;
  readonly contextLength: string;
  readonly maxOutputTokens: string;
  readonly aliases: string;
  readonly fallbacks: string;
  readonly visibleTo: string;
  readonly requestsPerMinute: string;
}

const numberText = (value: number | null): string => (value === null ? '' : String(value));

const formOf = (model: Model): Form => ({
  name: model.name,
  modality: model.modality,
  mode: model.mode,
  ownedBy: model.ownedBy,
  contextLength: numberText(model.contextLength),
  maxOutputTokens: numberText(model.maxOutputTokens),
  aliases: model.aliases.join(', '),
  fallbacks: model.fallbacks.join(', '),
  visibleTo: (model.visibleTo ?? []).join(', '),
  requestsPerMinute: numberText(model.requestsPerMinute),
});

const emptyForm: Form = {
  name: '',
  modality: 'chat',
  mode: 'live',
  ownedBy: '',
  contextLength: '',
  maxOutputTokens: '',
  aliases: '',
  fallbacks: '',
  visibleTo: '',
  requestsPerMinute: '',
};

function settingsOf(form: Form) {
  const visibleTo = parseNames(form.visibleTo);
  return {
    ownedBy: form.ownedBy.trim(),
    contextLength: parseOptionalInteger(form.contextLength),
    maxOutputTokens: parseOptionalInteger(form.maxOutputTokens),
    aliases: parseNames(form.aliases),
    fallbacks: parseNames(form.fallbacks),
    visibleTo: visibleTo.length === 0 ? null : visibleTo,
    requestsPerMinute: parseOptionalInteger(form.requestsPerMinute),
  };
}

function formIssue(form: Form): string | false {
  const optional = (what: string, text: string, max: number): string | false =>
    text.trim() !== '' && integerIssue(what, text, { min: 1, max });
  return (
    (form.name.trim() === '' && 'Enter a name.') ||
    (form.ownedBy.trim() === '' && "Enter the model's creator.") ||
    optional('Context length', form.contextLength, tokens.max) ||
    optional('Max output', form.maxOutputTokens, tokens.max) ||
    optional('Requests per minute', form.requestsPerMinute, 1_000_000)
  );
}

export function CreateModel() {
  const [form, setForm] = useState(emptyForm);
  return (
    <ActionButton
      run={(client, reason) =>
        client.admin.models.create({
          name: form.name.trim(),
          modality: form.modality,
          mode: form.mode,
          ...settingsOf(form),
          reason,
        })
      }
      label="Add model"
      size="medium"
      kind="primary"
      title="Add a model"
      doing="Adding…"
      done={(model) => `${model.name} was added.`}
      changes={changes}
      wait={formIssue(form)}
      onDone={() => setForm(emptyForm)}
    >
      <TextField
        label="Name"
        placeholder="meta-llama/Llama-3.1-8B-Instruct"
        value={form.name}
        maxLength={200}
        issue="name"
        onValue={(name) => setForm({ ...form, name })}
      />
      <div className="grid grid-cols-2 gap-3">
        <SelectField
          label="Type"
          value={form.modality}
          choices={modalities}
          onValue={(modality) => setForm({ ...form, modality })}
        />
        <SelectField
          label="Available to"
          value={form.mode}
          choices={[
            { value: 'live', label: 'Live and test keys' },
            { value: 'test', label: 'Test keys only' },
          ]}
          onValue={(mode) => setForm({ ...form, mode })}
        />
      </div>
      <SettingFields form={form} set={(change) => setForm({ ...form, ...change })} />
      <p className="text-soft text-xs">The model is available once it has a price and a deployment.</p>
    </ActionButton>
  );
}

export function EditModel({ model }: Readonly<{ model: Model }>) {
  const [form, setForm] = useState(() => formOf(model));
  return (
    <ActionButton
      label="Edit"
      title={`Edit ${model.name}`}
      doing="Saving…"
      done="Saved."
      changes={changes}
      wait={formIssue(form)}
      onOpen={() => setForm(formOf(model))}
      run={(client, reason) => client.admin.models.update({ name: model.name, ...settingsOf(form), reason })}
    >
      <SettingFields form={form} set={(change) => setForm({ ...form, ...change })} />
    </ActionButton>
  );
}

export function SwitchModel({ model }: Readonly<{ model: Model }>) {
  const label = model.enabled ? 'Retire' : 'Restore';
  return (
    <ActionButton
      label={label}
      title={`${label}: ${model.name}`}
      kind={model.enabled ? 'danger' : 'plain'}
      doing="Saving…"
      done={model.enabled ? `${model.name} is retired.` : `${model.name} is available.`}
      changes={changes}
      run={(client, reason) =>
        client.admin.models.update({ name: model.name, enabled: !model.enabled, reason })
      }
    >
      <p>
        {model.enabled
          ? 'New requests are rejected within a second. Running requests finish and are billed. Deployments stay.'
          : 'The model accepts requests again.'}
      </p>
    </ActionButton>
  );
}

function SettingFields({ form, set }: Readonly<{ form: Form; set: (change: Partial<Form>) => void }>) {
  const field = (label: string, name: keyof Form, hint?: string) => (
    <TextField
      label={label}
      {...(hint === undefined ? {} : { hint })}
      value={form[name]}
      issue={name}
      onValue={(value) => set({ [name]: value })}
    />
  );
  return (
    <>
      {field('Created by', 'ownedBy')}
      <div className="grid grid-cols-1 items-end gap-3 sm:grid-cols-2">
        {field('Context length in tokens (optional)', 'contextLength')}
        {field('Max output tokens (optional)', 'maxOutputTokens')}
      </div>
      {field('Aliases (optional)', 'aliases', 'Separated by commas.')}
      {field('Fallbacks (optional)', 'fallbacks', 'Models to use, in order, if no deployment is available.')}
      {field(
        'Organisations (optional)',
        'visibleTo',
        'IDs of organisations that can use the model. Leave empty for all.',
      )}
      {field('Requests per minute per organisation (optional)', 'requestsPerMinute')}
    </>
  );
}
