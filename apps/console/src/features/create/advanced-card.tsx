import { CheckboxField, SelectField, TextArea, TextField } from '../../ui/field.tsx';
import { Card } from '../../ui/page.tsx';
import type { Draft, Issues } from './draft.ts';
import { FORM_ID } from './form-id.ts';
import type { RentalSpec } from '../catalog/selection.ts';

interface AdvancedFields {
  readonly spec: RentalSpec;
  /** Why the choice cannot have an idle rule; null where it can. */
  readonly idleProblem: string | null;
  readonly draft: Draft;
  readonly issues: Issues;
  readonly onChange: (change: Partial<Draft>) => void;
}

/** What it is called and what ends it. */
export function NameCard({ draft, issues, onChange }: Omit<AdvancedFields, 'spec' | 'idleProblem'>) {
  return (
    <Card title="Name and limits">
      <div className="grid items-end gap-3 sm:grid-cols-3">
        <TextField
          label="Name"
          form={FORM_ID}
          hint="Also for: millrace ssh NAME"
          value={draft.name}
          maxLength={255}
          onValue={(name) => onChange({ name })}
          error={issues.name}
        />
        <TextField
          label="Time to live"
          form={FORM_ID}
          hint="Such as 90m, 8h or 3d"
          placeholder="no end"
          value={draft.ttl}
          onValue={(ttl) => onChange({ ttl })}
          error={issues.ttl}
        />
        <TextField
          label="Cost limit (USD)"
          form={FORM_ID}
          hint="It ends before it costs more"
          placeholder="no limit"
          inputMode="decimal"
          value={draft.maxUsd}
          onValue={(maxUsd) => onChange({ maxUsd })}
          error={issues.maxUsd}
        />
      </div>
    </Card>
  );
}

/** What few need, folded away. It opens by itself where something in it is wrong. */
export function AdvancedCard({ spec, idleProblem, draft, issues, onChange }: AdvancedFields) {
  const isWrong = [issues.idleAfter, issues.ports, issues.tags, issues.userData].some(
    (each) => each !== undefined,
  );
  return (
    <Card>
      <details open={isWrong || undefined}>
        <summary className="font-medium">More: image, idle rule, ports, tags, user data</summary>
        <div className="mt-3 flex flex-col gap-3">
          <ImageFields spec={spec} draft={draft} onChange={onChange} />
          {idleProblem !== null && <p className="text-soft text-xs">{idleProblem}</p>}
          {(idleProblem === null || issues.idleAfter !== undefined) && (
            <IdleFields draft={draft} issues={issues} onChange={onChange} />
          )}
          {spec.type === 'virtual-machine' && (
            <TextField
              label="Ports to open"
              form={FORM_ID}
              hint="Beside SSH, such as: 8080, 8888. Each is reachable from everywhere."
              value={draft.ports}
              onValue={(ports) => onChange({ ports })}
              error={issues.ports}
            />
          )}
          <TextArea
            label="Tags"
            form={FORM_ID}
            hint="One on each line: team=vision"
            rows={2}
            value={draft.tags}
            onValue={(tags) => onChange({ tags })}
            error={issues.tags}
          />
          <TextArea
            label="User data"
            form={FORM_ID}
            hint="A program (#!/bin/sh) that runs once as root, or #cloud-config. It can be read from inside the machine: no secrets."
            rows={5}
            spellCheck={false}
            className="font-mono"
            value={draft.userData}
            onValue={(userData) => onChange({ userData })}
            error={issues.userData}
          />
          <CheckboxField
            form={FORM_ID}
            label="Measure what it does"
            hint="Utilisation over time on its page, kept for seven days."
            checked={draft.monitoring}
            onValue={(monitoring) => onChange({ monitoring })}
          />
        </div>
      </details>
    </Card>
  );
}

function ImageFields({ spec, draft, onChange }: Omit<AdvancedFields, 'idleProblem' | 'issues'>) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <TextField
        label="Image"
        form={FORM_ID}
        hint="By its name, if another than the usual one"
        placeholder="the usual one"
        value={draft.image}
        maxLength={255}
        onValue={(image) => onChange({ image })}
      />
      {spec.type === 'bare-metal' && (
        <SelectField
          label="CUDA"
          form={FORM_ID}
          hint="What the driver must support at least"
          value={draft.cuda}
          onValue={(cuda) => onChange({ cuda })}
          choices={[
            { value: '', label: 'Any' },
            { value: 'cuda12.8', label: 'CUDA 12.8' },
            { value: 'cuda12.9', label: 'CUDA 12.9' },
          ]}
        />
      )}
    </div>
  );
}

function IdleFields({ draft, issues, onChange }: Omit<AdvancedFields, 'spec' | 'idleProblem'>) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <TextField
        label="When it has idled for"
        form={FORM_ID}
        hint="At least five minutes: 30m, 2h"
        placeholder="nothing happens"
        value={draft.idleAfter}
        onValue={(idleAfter) => onChange({ idleAfter })}
        error={issues.idleAfter}
      />
      <SelectField
        label="Then"
        form={FORM_ID}
        hint="A stop keeps the disk; an end deletes it."
        value={draft.idleAction}
        onValue={(idleAction) => onChange({ idleAction })}
        choices={[
          { value: 'stop', label: 'Stop it' },
          { value: 'terminate', label: 'Terminate it' },
        ]}
      />
    </div>
  );
}
