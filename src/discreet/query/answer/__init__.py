"""What leaves a question: previews, answers with error bars, explanations, exports."""
