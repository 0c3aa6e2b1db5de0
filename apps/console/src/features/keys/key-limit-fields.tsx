import { SelectField, TextArea, TextField } from '../../ui/field.tsx';
import type { KeyFields, KeyIssues } from './key-form.ts';

const periods = [
  { value: 'hour', label: 'an hour' },
  { value: 'day', label: 'a day' },
  { value: 'week', label: 'a week' },
  { value: 'month', label: 'a month' },
  { value: 'total', label: 'in all' },
];

/** Limits that a key may have beside those of the organisation. All may stay empty. */
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
      <summary className="font-medium">Limits (none unless you set one)</summary>
      <div className="mt-3 grid gap-3 sm:grid-cols-2">
        {text('budgetUsd', 'Spends at most, in dollars')}
        <SelectField
          label="In"
          value={fields.budgetPeriod}
          choices={periods}
          onValue={(budgetPeriod) => onSet({ budgetPeriod })}
        />
        {text('maxUsdPerHour', 'Rentals together, dollars an hour')}
        {text('maxLiveRentals', 'Rentals at a time')}
        {text('maxRentalTime', 'Each rental at most', 'Such as 12h or 7d.')}
        {text('rpm', 'Requests a minute')}
        {text('tpm', 'Tokens a minute')}
        {text('models', 'Only these models', 'A star at the end stands for anything.')}
        {text('regions', 'Only these regions', 'Such as eu-west-1, us-east-1.')}
        {text('gpuTypes', 'Only these GPUs', 'Such as h100, h200.')}
      </div>
      <div className="mt-3">
        <TextArea
          label="Only from these addresses or networks"
          hint="One in each line, such as 203.0.113.7 or 10.0.0.0/8. Empty: from anywhere."
          rows={2}
          value={fields.allowedIps}
          onValue={(allowedIps) => onSet({ allowedIps })}
        />
      </div>
    </details>
  );
}
