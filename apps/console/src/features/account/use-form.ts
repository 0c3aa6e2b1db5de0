import { useState, type FormEvent } from 'react';

/** State of a form with one action: whether it runs, and its error. */
export function useForm(submit: (fields: Readonly<Record<string, string>>) => Promise<void>) {
  const [state, setState] = useState<{ readonly busy: boolean; readonly error: unknown }>({
    busy: false,
    error: null,
  });
  const run = async (form: HTMLFormElement): Promise<void> => {
    setState({ busy: true, error: null });
    const fields = Object.fromEntries(
      [...new FormData(form)].filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    );
    try {
      await submit(fields);
      setState({ busy: false, error: null });
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  return {
    ...state,
    onSubmit: (event: FormEvent<HTMLFormElement>): void => {
      event.preventDefault();
      void run(event.currentTarget);
    },
  };
}
