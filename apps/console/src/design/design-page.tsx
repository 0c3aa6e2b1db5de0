import { useState } from 'react';
import { applyTheme, storedTheme, type Theme } from '../app/theme.ts';
import { SelectField } from '../ui/field.tsx';
import { PageHeader } from '../ui/page.tsx';
import { ChartExamples } from './charts.tsx';
import { ControlExamples } from './controls.tsx';
import { DataExamples } from './data.tsx';
import { StateExamples } from './states.tsx';
import { Tokens } from './tokens.tsx';

const themes: readonly { readonly value: Theme; readonly label: string }[] = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];

export function DesignPage() {
  const [theme, setTheme] = useState(storedTheme);
  return (
    <main className="mx-auto max-w-6xl px-4 py-6 sm:px-6">
      <PageHeader
        title="Design"
        about="All tokens of styles.css and all shared components in all states."
        actions={
          <SelectField
            label="Theme"
            value={theme}
            choices={themes}
            onValue={(next) => {
              applyTheme(next);
              setTheme(next);
            }}
          />
        }
      />
      <Tokens />
      <ControlExamples />
      <StateExamples />
      <DataExamples />
      <ChartExamples />
    </main>
  );
}
