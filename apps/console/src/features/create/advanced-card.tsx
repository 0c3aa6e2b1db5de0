import { CheckboxField, SelectField, TextArea, TextField } from '../../ui/field.tsx';
import { Card } from '../../ui/page.tsx';
import type { Draft, Issues } from './draft.ts';
import { FORM_ID } from './form-id.ts';
import type { RentalSpec } from '../catalog/selection.ts';

interface AdvancedFields {
  readonly spec: RentalSpec;
  /** Why an idle rule is not possible; null if it is. */
  readonly idleProblem: string | null;
  readonly draft: Draft;
  readonly issues: Issues;
  readonly onChange: (change: Partial<Draft>) => void;
}

export function NameCard({ draft, issues, onChange }: Omit<AdvancedFields, 'spec' | 'idleProblem'>) {
  return (
    <Card title="Name and limits">
      <div className="grid items-end gap-3 sm:grid-cols-3">
        <TextField
          label="Name"
          form={FORM_ID}
          hint="Also used in: millrace ssh NAME"
          value={draft.name}
          maxLength={255}
          onValue={(name) => onChange({ name })}
          error={issues.name}
        />
        <TextField
          label="Time to live"
          form={FORM_ID}
          hint="For example 90m, 8h or 3d"
          placeholder="unlimited"
          value={draft.ttl}
          onValue={(ttl) => onChange({ ttl })}
          error={issues.ttl}
        />
        <TextField
          label="Spending limit (USD)"
          form={FORM_ID}
          hint="The machine is terminated before it costs more"
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

/** Rarely used options; opens automatically if one of them is invalid. */
export function AdvancedCard({ spec, idleProblem, draft, issues, onChange }: AdvancedFields) {
  const isWrong = [issues.idleAfter, issues.ports, issues.tags, issues.userData].some(
    (each) => each !== undefined,
  );
  return (
    <Card>
      <details open={isWrong || undefined}>
        <summary className="font-medium">
          Advanced: image, monitoring, idle rule, ports, tags, user data
        </summary>
        <div className="mt-3 flex flex-col gap-3">
          <ImageFields spec={spec} draft={draft} onChange={onChange} />
          {idleProblem !== null && <p className="text-soft text-xs">{idleProblem}</p>}
          {(idleProblem === null || issues.idleAfter !== undefined) && (
            <IdleFields draft={draft} issues={issues} onChange={onChange} />
          )}
          {spec.type === 'virtual-machine' && (
            <TextField
              label="Open ports"
              form={FORM_ID}
              hint="In addition to SSH, for example 8080, 8888. Open to the internet."
              value={draft.ports}
              onValue={(ports) => onChange({ ports })}
              error={issues.ports}
            />
          )}
          <TextArea
            label="Tags"
            form={FORM_ID}
            hint="One per line, for example team=vision"
            rows={2}
            value={draft.tags}
            onValue={(tags) => onChange({ tags })}
            error={issues.tags}
          />
          <TextArea
            label="User data"
            form={FORM_ID}
            hint="A script (#!/bin/sh) that runs once as root, or #cloud-config. Readable inside the machine, so do not include secrets."
            rows={5}
            spellCheck={false}
            className="font-mono"
            value={draft.userData}
            onValue={(userData) => onChange({ userData })}
            error={issues.userData}
          />
          {spec.type === 'virtual-machine' && (
            <CheckboxField
              form={FORM_ID}
              label="Enable monitoring"
              hint="Shows GPU and system metrics, kept for 7 days. Free."
              checked={draft.monitoring}
              onValue={(monitoring) => onChange({ monitoring })}
            />
          )}
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
        hint="Leave empty for the default image"
        placeholder="default"
        value={draft.image}
        maxLength={255}
        onValue={(image) => onChange({ image })}
      />
      {spec.type === 'bare-metal' && (
        <SelectField
          label="CUDA"
          form={FORM_ID}
          hint="Minimum CUDA version of the driver"
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
        label="After being idle for"
        form={FORM_ID}
        hint="At least 5 minutes, for example 30m or 2h"
        placeholder="never"
        value={draft.idleAfter}
        onValue={(idleAfter) => onChange({ idleAfter })}
        error={issues.idleAfter}
      />
      <SelectField
        label="Action"
        form={FORM_ID}
        hint="Stop keeps the disk; terminate deletes it."
        value={draft.idleAction}
        onValue={(idleAction) => onChange({ idleAction })}
        choices={[
          { value: 'stop', label: 'Stop' },
          { value: 'terminate', label: 'Terminate' },
        ]}
      />
    </div>
  );
}
