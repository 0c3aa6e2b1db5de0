import type { ModelEntry } from '@millrace/core/inference';

/**
 * What the templates of engines add to prompts, learned from the counts of whole answers. Without it each prompt reserves for the
 * largest template there is, which is most of what a short request reserves. An engine counts at least its template, so the least
 * count seen for conversations of the same roles is a bound of what the template adds to them.
 */
export interface TemplateOverheads {
  /** Null while a deployment of the model has not answered such a conversation. */
  boundFor(model: Pick<ModelEntry, 'deployments'>, roles: string): number | null;
  learn(deploymentId: string, plain: TextConversation, promptTokens: number): void;
}

/** A conversation of text alone, which templates treat alike. */
export interface TextConversation {
  readonly roles: string;
  readonly bytes: number;
}

/** For templates with a date or a count of messages in them. */
const spareTokens = 8;
const maxRolePatterns = 64;
const maxDeployments = 2_000;

export function createTemplateOverheads(): TemplateOverheads {
  const learned = new Map<string, Map<string, number>>();
  return {
    boundFor({ deployments }, roles) {
      let bound = 0;
      for (const { id, weight } of deployments) {
        const least = learned.get(id)?.get(roles);
        if (least !== undefined) bound = Math.max(bound, least);
        // A deployment with weight 0 may never answer, so nothing waits for its first count.
        else if (weight > 0) return null;
      }
      return bound === 0 ? null : bound + spareTokens;
    },
    learn(deploymentId, { roles, bytes }, promptTokens) {
      if (promptTokens < 1) return;
      let shapes = learned.get(deploymentId);
      if (shapes === undefined) {
        if (learned.size >= maxDeployments) learned.clear();
        shapes = new Map<string, number>();
        learned.set(deploymentId, shapes);
      }
      const before = shapes.get(roles);
      if (before === undefined && shapes.size >= maxRolePatterns) return;
      // A count above the bound: the engine has another template by now.
      const isOutdated = before !== undefined && promptTokens > bytes + before + spareTokens;
      if (before === undefined || isOutdated || promptTokens < before) shapes.set(roles, promptTokens);
    },
  };
}
