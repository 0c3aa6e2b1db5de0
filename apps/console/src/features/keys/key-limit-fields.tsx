import { SelectField, TextArea, TextField } from '../../ui/field.tsx';
import type { KeyFields, KeyIssues } from './key-form.ts';

const periods = [
  { value: 'hour', label: 'hour' },
  { value: 'day', label: 'day' },
  { value: 'week', label: 'week' },
  { value: 'month', label: 'month' },
  { value: 'total', label: 'total' },
];

/** Optional limits of a key, in addition to those of the organisation. */
export function KeyLimitFields({
  fields,
  problems,
  onSet,
}: Readonly<{ fields: KeyFields; problems: KeyIssues; onSet: (change: Partial<KeyFields>) => void }>) {
  const text = (
    name: Exclude<keyof KeyFields, 'scopes' | 'mode' | 'name' | 'expires' | 'budgetPeriod'>,
    label: string,
    hint?: string,
  ) => (
    <TextField
      label={label}
      hint={hint}
      value={fields[name]}
      error={problems[name]}
      autoComplete="off"
      onValue={(value) => onSet({ [name]: value })}
    />
  );
  return (
    <details open={Object.keys(problems).some((name) => name !== 'name' && name !== 'scopes')}>
      <summary className="font-medium">Limits (optional)</summary>
      <div className="mt-3 grid gap-3 sm:grid-cols-2">
        {text('budgetUsd', 'Budget (USD)')}
        <SelectField
          label="Per"
          value={fields.budgetPeriod}
          choices={periods}
          onValue={(budgetPeriod) => onSet({ budgetPeriod })}
        />
        {text('maxUsdPerHour', 'Max rental cost per hour (USD)')}
        {text('maxLiveRentals', 'Max concurrent rentals')}
        {text('maxRentalTime', 'Max rental duration', 'For example 12h or 7d.')}
        {text('rpm', 'Requests per minute')}
        {text('tpm', 'Tokens per minute')}
        {text('models', 'Allowed models', 'End a name with * to match a prefix.')}
        {text('regions', 'Allowed regions', 'For example eu-west-1, us-east-1.')}
        {text('gpuTypes', 'Allowed GPUs', 'For example h100, h200.')}
      </div>
      <div className="mt-3">
        <TextArea
          label="Allowed IP addresses"
          hint="One address or network per line, for example 203.0.113.7 or 10.0.0.0/8. Leave empty to allow all."
          rows={2}
          value={fields.allowedIps}
          onValue={(allowedIps) => onSet({ allowedIps })}
        />
      </div>
    </details>
  );
}
