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

/** Makes a budget, or changes one; what it counts and its period stay as they were made. */
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
        toast(budget === undefined ? 'Budget created' : 'Budget changed', name);
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
      title={isNew ? 'New budget' : `Change ${budget.name}`}
      about="What is held for work under way counts as spent."
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
        label="Limit in US dollars"
        inputMode="decimal"
        placeholder="500"
        value={fields.limit}
        error={problems.limit}
        issue="limitNanoUsd"
        onValue={(limit) => set({ limit })}
      />
      <SelectField
        label="For"
        value={fields.period}
        choices={periodChoices}
        disabled={!isNew}
        hint={isNew ? undefined : 'The period of a budget stays. Make a new one for another period.'}
        onValue={(period) => set({ period })}
      />
      <SelectField
        label="Counts"
        value={fields.keyId}
        choices={[
          { value: '', label: 'The whole organisation' },
          ...[...(names ?? [])].map(([value, name]) => ({ value, label: `Only the key ${name}` })),
        ]}
        disabled={!isNew}
        issue="keyId"
        onValue={(keyId) => set({ keyId })}
      />
      <TextField
        label="Tell at these percentages"
        value={fields.thresholds}
        error={problems.thresholds}
        issue="thresholdsPercent"
        onValue={(thresholds) => set({ thresholds })}
      />
      <SelectField
        label="When it is used up"
        value={fields.onExceeded}
        choices={consequenceChoices}
        hint={consequences[fields.onExceeded as OnExceeded].about}
        onValue={(onExceeded) => set({ onExceeded })}
      />
    </>
  );
}
