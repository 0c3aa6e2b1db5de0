import { useState } from 'react';
import { useApiMutation } from '../../api/queries.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Problem } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import {
  parseBudgetForm,
  toBudgetUpdate,
  consequences,
  emptyBudget,
  toBudgetFields,
  periods,
  type Budget,
  type BudgetFields,
  type OnExceeded,
  type BudgetIssues,
} from './budgets.ts';
import { Form, FormButtons } from '../../ui/form.tsx';

const periodChoices = Object.entries(periods).map(([value, label]) => ({ value, label }));
const consequenceChoices = Object.entries(consequences).map(([value, { label }]) => ({ value, label }));

type KeyNames = ReadonlyMap<string, string> | undefined;

/** Creates or edits a budget; scope and period of an existing budget are fixed. */
export function BudgetForm(props: Readonly<{ budget?: Budget; names: KeyNames; onClose: () => void }>) {
  const { budget, names, onClose } = props;
  const toast = useToast();
  const [fields, setFields] = useState<BudgetFields>(
    budget === undefined ? emptyBudget : toBudgetFields(budget),
  );
  const [problems, setProblems] = useState<BudgetIssues>({});
  const save = useApiMutation(
    (client, body: Parameters<typeof toBudgetUpdate>[0]): Promise<Budget> =>
      budget === undefined
        ? client.budgets.create(body)
        : client.budgets.update({ budgetId: budget.id, ...toBudgetUpdate(body) }),
    {
      changes: ['money'],
      onSuccess: ({ name }) => {
        toast(budget === undefined ? 'Budget created' : 'Budget saved', name);
        onClose();
      },
    },
  );
  const set = (change: Partial<BudgetFields>): void => setFields({ ...fields, ...change });
  const submit = (): void => {
    const made = parseBudgetForm(fields);
    setProblems('problems' in made ? made.problems : {});
    if ('body' in made) save.mutate(made.body);
  };
  const isNew = budget === undefined;
  return (
    <Dialog
      open
      onClose={onClose}
      title={isNew ? 'Create budget' : `Edit ${budget.name}`}
      about="Money held for running work counts as spent."
    >
      <Form error={save.error} onSend={submit} className="flex flex-col gap-3">
        <BudgetInputs fields={fields} problems={problems} names={names} isNew={isNew} set={set} />
        {save.error !== null && <Problem error={save.error} doing="save the budget" />}
        <FormButtons onClose={onClose} busy={save.isPending && 'Saving…'}>
          {isNew ? 'Create' : 'Save'}
        </FormButtons>
      </Form>
    </Dialog>
  );
}

interface BudgetInputsProps {
  readonly fields: BudgetFields;
  readonly problems: BudgetIssues;
  readonly names: KeyNames;
  readonly isNew: boolean;
  readonly set: (change: Partial<BudgetFields>) => void;
}

function BudgetInputs({ fields, problems, names, isNew, set }: BudgetInputsProps) {
  return (
    <>
      <TextField
        label="Name"
        value={fields.name}
        maxLength={100}
        error={problems.name}
        issue="name"
        onValue={(name) => set({ name })}
      />
      <TextField
        label="Limit (USD)"
        inputMode="decimal"
        placeholder="500"
        value={fields.limit}
        error={problems.limit}
        issue="limitNanoUsd"
        onValue={(limit) => set({ limit })}
      />
      <SelectField
        label="Period"
        value={fields.period}
        choices={periodChoices}
        disabled={!isNew}
        hint={isNew ? undefined : 'You cannot change the period. Create a new budget instead.'}
        onValue={(period) => set({ period })}
      />
      <SelectField
        label="Applies to"
        value={fields.keyId}
        choices={[
          { value: '', label: 'Whole organisation' },
          ...[...(names ?? [])].map(([value, name]) => ({ value, label: `API key ${name}` })),
        ]}
        disabled={!isNew}
        hint={isNew ? undefined : 'You cannot change what it applies to. Create a new budget instead.'}
        issue="keyId"
        onValue={(keyId) => set({ keyId })}
      />
      <TextField
        label="Notify at (%)"
        value={fields.thresholds}
        error={problems.thresholds}
        issue="thresholdsPercent"
        onValue={(thresholds) => set({ thresholds })}
      />
      <SelectField
        label="When the limit is reached"
        value={fields.onExceeded}
        choices={consequenceChoices}
        hint={consequences[fields.onExceeded as OnExceeded].about}
        onValue={(onExceeded) => set({ onExceeded })}
      />
    </>
  );
}
